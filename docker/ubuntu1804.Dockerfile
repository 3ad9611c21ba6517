# Ubuntu 18.04, glibc 2.27: its own gcc, and the Pythons that its archive is too old for, at /usr/local/bin/python3.N.
# The shape in which TileLang's wheels are made: one image, every Python.
#
#   [images.ubuntu1804]
#   dockerfile = "docker/ubuntu1804.Dockerfile"
#   ref = "registry.example.org/ubuntu1804:v1"
FROM ghcr.io/astral-sh/uv:0.9 AS uv

FROM ubuntu:18.04
# hadolint ignore=DL3008
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends build-essential ca-certificates git \
 && rm -rf /var/lib/apt/lists/*
COPY --from=uv /uv /usr/local/bin/uv
ARG PYTHONS="3.10 3.11 3.12 3.13 3.13t 3.14"
# hadolint ignore=SC2086
RUN UV_PYTHON_INSTALL_DIR=/opt/python UV_PYTHON_BIN_DIR=/usr/local/bin uv python install ${PYTHONS}
