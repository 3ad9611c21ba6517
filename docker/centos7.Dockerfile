# Bare CentOS 7, glibc 2.17 and the libstdc++ of GCC 4.8: the oldest machine that a 2.17 wheel promises to run on.
# It has the Pythons to import wheels with, at /usr/local/bin/python3.N; the loader's verdict needs none.
#
#   [images.centos7]
#   dockerfile = "docker/centos7.Dockerfile"
#   ref = "registry.example.org/centos7:v1"
FROM ghcr.io/astral-sh/uv:0.9 AS uv

FROM centos:7
COPY --from=uv /uv /usr/local/bin/uv
ARG PYTHONS="3.10 3.11 3.12 3.13 3.13t 3.14"
# hadolint ignore=SC2086
RUN UV_PYTHON_INSTALL_DIR=/opt/python UV_PYTHON_BIN_DIR=/usr/local/bin uv python install ${PYTHONS}
