# glibc 2.28 with ROCm: for wheels with a HIP backend.
#
#   [images.manylinux_2_28-rocm]
#   dockerfile = "docker/manylinux_2_28-rocm.Dockerfile"
#   ref = "registry.example.org/manylinux_2_28-rocm:6.2"
#
# ROCm's runtime (libamdhip64, libhsa-runtime64, 3 GB and more) stays outside of a wheel:
#   libraries.exclude = ["/opt/rocm*"]
FROM quay.io/pypa/manylinux_2_28_x86_64:2025.09.28-1

ARG ROCM=6.2.4
COPY rocm.repo /etc/yum.repos.d/rocm.repo
# hadolint ignore=DL3041
RUN sed -i "s/@ROCM@/${ROCM}/" /etc/yum.repos.d/rocm.repo \
 && dnf install -y --setopt=install_weak_deps=False --setopt=tsflags=nodocs \
        hip-devel hipcc rocm-device-libs rocm-hip-runtime-devel \
 && dnf clean all

ENV ROCM_PATH=/opt/rocm \
    PATH=/opt/rocm/bin:${PATH}
