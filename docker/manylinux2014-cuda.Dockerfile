# glibc 2.17 with CUDA: the shape in which Taichi's reduced wheels are made (CPU and CUDA, Vulkan switched off).
#
#   [images.manylinux2014-cuda]
#   dockerfile = "docker/manylinux2014-cuda.Dockerfile"
#   ref = "registry.example.org/manylinux2014-cuda:11.8"
#
# manylinux2014 is CentOS 7 with a newer GCC (gcc-toolset, whose newer parts of libstdc++ are linked statically, so that
# the wheel asks no more of a machine than CentOS 7's own libstdc++), every CPython below /opt/python, and patchelf.
# CUDA's headers and stubs come from NVIDIA's own packages. The driver is not among them, and must not be: wheels leave
# libcuda.so.1 to the user's machine, and what lies below /usr/local/cuda to `libraries.exclude`.
FROM quay.io/pypa/manylinux2014_x86_64:2025.09.28-1

# NVIDIA's repository for RHEL 7 holds CUDA up to 12.4; its packages need nothing of CentOS's closed mirrors.
ARG CUDA=11-8
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN curl -fsSL -o /etc/yum.repos.d/cuda.repo \
        https://developer.download.nvidia.com/compute/cuda/repos/rhel7/x86_64/cuda-rhel7.repo \
 && yum install -y --setopt=tsflags=nodocs \
        "cuda-cudart-devel-${CUDA}" "cuda-driver-devel-${CUDA}" "cuda-nvcc-${CUDA}" "cuda-nvrtc-devel-${CUDA}" \
 && yum clean all \
 && rm -rf /var/cache/yum

# LLVM for the backends that generate code, built once and static: 15 is the last that GCC 10 and CentOS 7 build as is.
ARG LLVM=15.0.7
ARG LLVM_SHA256=8b5fcb24b4128cf04df1b0b9410ce8b1a729cb3c544e6da885d234280dedeac6
ARG JOBS=4
WORKDIR /tmp/llvm
RUN curl -fsSL -o llvm.tar.xz \
        "https://github.com/llvm/llvm-project/releases/download/llvmorg-${LLVM}/llvm-project-${LLVM}.src.tar.xz" \
 && echo "${LLVM_SHA256}  llvm.tar.xz" | sha256sum --check --strict \
 && tar --strip-components=1 -xf llvm.tar.xz \
 && cmake -S llvm -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/opt/llvm \
        -DLLVM_TARGETS_TO_BUILD="X86;NVPTX" -DLLVM_ENABLE_PROJECTS=clang -DLLVM_ENABLE_ASSERTIONS=ON \
        -DLLVM_ENABLE_TERMINFO=OFF -DLLVM_ENABLE_ZLIB=OFF -DLLVM_ENABLE_ZSTD=OFF -DLLVM_INCLUDE_TESTS=OFF \
        -DLLVM_INCLUDE_BENCHMARKS=OFF -DPython3_EXECUTABLE=/opt/python/cp310-cp310/bin/python \
 && cmake --build build --target install --parallel "${JOBS}" \
 && rm -rf /tmp/llvm

WORKDIR /
ENV CUDA_HOME=/usr/local/cuda \
    LLVM_DIR=/opt/llvm/lib/cmake/llvm \
    PATH=/opt/llvm/bin:/usr/local/cuda/bin:${PATH}
