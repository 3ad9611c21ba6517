# Three images over one Debian release, which docker/make-base-images.sh makes where none can be pulled:
#   --target python   python3 with venv and pip: to prove wheels in
#   --target build    a compiler and Python's headers as well: to build wheels in
# The release itself, without Python, is what they stand on.
ARG BASE=wainwright/debian:bullseye-bare
FROM ${BASE} AS python
# hadolint ignore=DL3008
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3 python3-pip python3-venv \
 && rm -rf /var/lib/apt/lists/*

FROM python AS build
# hadolint ignore=DL3008
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends build-essential python3-dev \
 && rm -rf /var/lib/apt/lists/*
