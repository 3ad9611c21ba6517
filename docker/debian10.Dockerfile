# Bare Debian 10, glibc 2.28: a user's machine with Python and nothing else, to prove wheels in.
#
#   [images.debian10]
#   dockerfile = "docker/debian10.Dockerfile"
#   ref = "registry.example.org/debian10:v1"
FROM debian:10-slim

# Debian 10 has left the mirrors for the archive, whose signatures have run out: the packages are still checked by them.
# hadolint ignore=DL3008
RUN printf 'deb http://archive.debian.org/debian buster main\n' > /etc/apt/sources.list \
 && apt-get -o Acquire::Check-Valid-Until=false update \
 && apt-get install -y --no-install-recommends ca-certificates python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
