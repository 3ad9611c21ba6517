#!/bin/sh
# Has a container engine answer on this machine: nothing to do where one does; else Docker is installed (Debian, Ubuntu)
# and its daemon started. For root, on machines made for one run, such as those of a CI.
set -eu

answers() { docker version >/dev/null 2>&1; }

answers && exit 0
case ${DOCKER_HOST:-} in
    '' | unix:///var/run/docker.sock) ;;
    *) echo "$0: the engine at $DOCKER_HOST does not answer" >&2; exit 4 ;;
esac
[ "$(id -u)" = 0 ] || { echo "$0: no engine answers, and only root can start one: sudo systemctl start docker" >&2; exit 4; }
if ! command -v dockerd >/dev/null || ! command -v docker >/dev/null || ! command -v debootstrap >/dev/null; then
    apt-get update -q >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        ca-certificates debootstrap docker.io iptables >&2
fi
answers && exit 0
log=${DOCKERD_LOG:-/var/log/dockerd.log}
# The daemon outlives who starts it, and so whatever folder that one has for temporary files.
env -u TMPDIR setsid dockerd >"$log" 2>&1 </dev/null &
for _ in $(seq 60); do
    answers && exit 0
    sleep 0.5
done
echo "$0: dockerd does not answer; the end of $log:" >&2
tail -n 20 "$log" >&2
exit 4
