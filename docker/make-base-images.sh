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
mirror=${DEBIAN_MIRROR:-}  # empty: debootstrap's own default
arch=${DEBIAN_ARCH:-$(dpkg --print-architecture)}
case $arch in
    amd64 | arm64) platform=linux/$arch ;;
    armhf) platform=linux/arm ;;
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

# An image of one layer, from the root file system in $work/image/layer.tar. By `load`, since `import --platform` of Docker
# before 23 labels every image with the machine's own architecture.
flat() {
    layer=$(sha256sum "$work/image/layer.tar" | cut -d' ' -f1)
    printf '{"architecture":"%s","os":"linux","created":"%s","config":{"Cmd":["/bin/bash"],"Env":["PATH=%s"]},' \
        "${platform#linux/}" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
        /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin >"$work/image/config.json"
    printf '"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "$layer" >>"$work/image/config.json"
    printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$1" >"$work/image/manifest.json"
    tar -C "$work/image" -c config.json manifest.json layer.tar | "$engine" load -q >/dev/null
    rm -rf "${work:?}/image"
}

# The release alone: debootstrap's minimal variant and the certificates that any download wants.
release() {
    command -v debootstrap >/dev/null || { echo "$0: debootstrap is needed: apt-get install debootstrap" >&2; exit 4; }
    echo "$1: made by debootstrap" >&2
    debootstrap --arch="$arch" --variant=minbase --include=ca-certificates "$1" "$work/$1" ${mirror:+"$mirror"} >"$work/log" 2>&1 ||
        { tail -n 20 "$work/log" >&2; exit 4; }
    mkdir "$work/image"
    tar -C "$work/$1" --numeric-owner --sort=name --exclude='./var/cache/apt/archives/*.deb' \
        --exclude='./var/lib/apt/lists/*_*' -cf "$work/image/layer.tar" .
    rm -rf "${work:?}/$1"
    flat "$2"
}

# Packages on top of an image, as one flat image: Docker's older builder mislabels images of another architecture.
layer() {
    container=wainwright-base-$$
    "$engine" run --name "$container" --platform "$platform" "$2" sh -c "apt-get update -q \
        && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $3 \
        && rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb" >"$work/log" 2>&1 ||
        { tail -n 20 "$work/log" >&2; "$engine" rm -f "$container" >/dev/null; exit 4; }
    mkdir "$work/image"
    "$engine" export --output "$work/image/layer.tar" "$container"
    flat "$1"
    "$engine" rm -f "$container" >/dev/null
}

[ $# -gt 0 ] || set -- bullseye bookworm
for suite in "$@"; do
    name=wainwright/debian:$suite$suffix
    file=$cache/debian-$suite-$arch.tar.gz
    if have "$name-bare" "$name" "$name-build"; then
        echo "$name: here already" >&2
        continue
    fi
    if [ -f "$file" ] && gzip -dc "$file" | "$engine" load -q >/dev/null && have "$name-bare" "$name" "$name-build"; then
        echo "$name: loaded from $file" >&2
        continue
    fi
    have "$name-bare" || release "$suite" "$name-bare"
    if [ -n "$suffix" ]; then
        layer "$name" "$name-bare" "python3 python3-pip python3-venv"
        layer "$name-build" "$name" "build-essential python3-dev"
    else
        for target in python build; do
            [ "$target" = python ] && tag=$name || tag=$name-$target
            "$engine" build -q --build-arg "BASE=$name-bare" --target "$target" --tag "$tag" \
                --file "$here/debian.Dockerfile" "$here" >/dev/null
        done
    fi
    mkdir -p "$cache"
    "$engine" save "$name-bare" "$name" "$name-build" | gzip -1 >"$file.$$" && mv "$file.$$" "$file"
    echo "$name: made, and kept in $file" >&2
done
