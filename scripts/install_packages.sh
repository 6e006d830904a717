#!/usr/bin/env bash
# Installs the Debian packages that are missing, and nothing when none is.
#
#   scripts/install_packages.sh build|test|text ...
#
# build: what compiles the two programs; test: what the tests start besides; text: the quickstart's English text.
set -euo pipefail

build=(g++ cmake ninja-build libssh-dev libasio-dev libcli11-dev libtomlplusplus-dev libfmt-dev
       libgloo-dev libdnnl-dev nlohmann-json3-dev libxxhash-dev libssl-dev)
test=(doctest-dev openssh-server openssh-client iproute2 iputils-ping procps tcsh csh zsh)
text=(bible-kjv)

wanted=()
for set in "$@"; do
  case "$set" in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${test[@]}") ;;
    text) wanted+=("${text[@]}") ;;
    *) echo "install_packages: unknown set '$set' (build, test, text)" >&2; exit 64 ;;
  esac
done

missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "packages: all ${#wanted[@]} are there"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null || { echo "packages: run this as root, or install sudo; missing: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "packages: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update &&
       "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } > "$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "packages: apt could not install them; the lines above say why" >&2
  exit 1
fi
