#!/bin/sh
# Makes Debian images from Debian's own archive, for machines that cannot reach a container registry:
#
#   docker/make-base-images.sh [SUITE]…        bullseye and bookworm unless others are named
#
#   wainwright/debian:SUITE-bare     no Python
#   wainwright/debian:SUITE          python3, venv, pip
#   wainwright/debian:SUITE-build    a compiler and Python's headers as well
#
# What the engine has already stays as it is. What has been made is kept as a tar in
# ${XDG_CACHE_HOME:-~/.cache}/wainwright/images, and loaded from there the next time; delete it to have newer packages.
# Needs debootstrap and root for the first time. WAINWRIGHT_ENGINE (docker), DEBIAN_MIRROR and DEBIAN_ARCH are heeded.
set -eu

engine=${WAINWRIGHT_ENGINE:-docker}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
arch=${DEBIAN_ARCH:-$(dpkg --print-architecture)}
case $arch in
    amd64 | arm64) platform=linux/$arch ;;
    armhf) platform=linux/arm/v7 ;;
    ppc64el) platform=linux/ppc64le ;;
    *) platform=linux/$arch ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/wainwright/images
work=$(mktemp -d "${TMPDIR:-/tmp}/wainwright-base-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

suffix=
[ "$arch" = "$(dpkg --print-architecture 2>/dev/null || echo amd64)" ] || suffix=-$arch

have() {
    for tag in "$@"; do
        "$engine" image inspect "$tag" >/dev/null 2>&1 || return 1
    done
}

# The release alone: debootstrap's minimal variant and the certificates that any download wants.
release() {
    command -v debootstrap >/dev/null || { echo "$0: debootstrap is needed: apt-get install debootstrap" >&2; exit 4; }
    echo "$1: made from $mirror by debootstrap" >&2
    debootstrap --arch="$arch" --variant=minbase --include=ca-certificates "$1" "$work/$1" "$mirror" >"$work/log" 2>&1 ||
        { tail -n 20 "$work/log" >&2; exit 4; }
    tar -C "$work/$1" --numeric-owner --sort=name --exclude='./var/cache/apt/archives/*.deb' \
        --exclude='./var/lib/apt/lists/*_*' -c . |
        "$engine" import --platform "$platform" --change 'CMD ["/bin/bash"]' - "$2" >/dev/null
    rm -rf "${work:?}/$1"
}

[ $# -gt 0 ] || set -- bullseye bookworm
for suite in "$@"; do
    name=wainwright/debian:$suite$suffix
    file=$cache/debian-$suite-$arch.tar.gz
    if have "$name-bare" "$name" "$name-build"; then
        echo "$name: here already" >&2
        continue
    fi
    if [ -f "$file" ] && "$engine" load -q -i "$file" >/dev/null && have "$name-bare" "$name" "$name-build"; then
        echo "$name: loaded from $file" >&2
        continue
    fi
    release "$suite" "$name-bare"
    for target in python build; do
        [ "$target" = python ] && tag=$name || tag=$name-$target
        "$engine" build -q --platform "$platform" --build-arg "BASE=$name-bare" --target "$target" --tag "$tag" \
            --file "$here/debian.Dockerfile" "$here" >/dev/null
    done
    mkdir -p "$cache"
    "$engine" save "$name-bare" "$name" "$name-build" | gzip -1 >"$file.$$" && mv "$file.$$" "$file"
    echo "$name: made, and kept in $file" >&2
done
