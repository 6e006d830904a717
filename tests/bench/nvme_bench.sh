#!/usr/bin/env bash
# Files on a fast disk: our rate against fio's on the same folder with the same blocks and depth, on each step of the ladder, in
# turn. Prints medians, ranges and the ratio to the better of fio's engines of the same round. Asserts nothing.
#   tests/bench/nvme_bench.sh [FOLDER] [ROUNDS] [MIB] [BLOCK KIB] [DEPTH]      default: /tmp 5 1024 1024 32   Needs: DS_TESTS.
# A disk of a virtual machine shares its rate with strangers: look at the ranges.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
tests=${DS_TESTS:-$source/build/release/tests}
folder=${1:-/tmp}
rounds=${2:-5}
mib=${3:-1024}
block=${4:-1024}
depth=${5:-32}
command -v fio >/dev/null || { echo "skipped: the Debian package fio is not installed"; exit 77; }
work=$(mktemp -d "$folder/nvme_bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

# fio_rate read|write ENGINE: MB/s over a file that is there already.
fio_rate() {
  local fixed=()
  [ "$2" = libaio ] || fixed=(--fixedbufs=1 --registerfiles=1)
  fio --name=bench --directory="$work" --filename=fio --size="${mib}m" --bs="${block}k" --iodepth="$depth" --direct=1 \
    --overwrite=1 --rw="$1" --ioengine="$2" "${fixed[@]}" --output-format=json 2>"$work/err" >"$work/json" ||
    { cat "$work/err" >&2; return 1; }
  awk -v way="$1" '$1 == "\"" way "\"" { inside = 1 } inside && $1 == "\"bw_bytes\"" { printf "%.1f", $3 / 1e6; exit }' "$work/json"
}
# ours NAME OPTIONS...: appends to the files NAME.write and NAME.read
ours() {
  local name=$1
  shift
  "$tests/tile_traffic" folders="$work" mib="$mib" block="$block" depth="$depth" "$@" >"$work/out"
  head -n 1 "$work/out" >"$work/$name.step"
  for way in write read "both ways, each"; do
    sed -n "s/^$way \([0-9.]*\)$/\1/p" "$work/out" >>"$work/$name.$way"
  done
}
spread() { sort -n "$1" | awk '{ v[NR] = $1 } END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
  printf "median %.2f, from %.2f to %.2f", m, v[1], v[NR] }'; }

echo "$folder on $(findmnt -no SOURCE,FSTYPE -T "$folder" | tr -s ' '), $(nproc) cores, $rounds rounds of $mib MiB"
dd if=/dev/zero of="$work/fio" bs=1M count="$mib" oflag=direct status=none
for ((round = 1; round <= rounds; round++)); do
  for way in write read; do
    a=$(fio_rate $way io_uring)
    b=$(fio_rate $way libaio)
    echo "$a" >>"$work/fio_io_uring.$way"
    echo "$b" >>"$work/fio_libaio.$way"
    awk -v a="$a" -v b="$b" 'BEGIN { print (a > b ? a : b) }' >>"$work/fio.$way"
  done
  ours registered
  ours plain register=0
  ours threads engine=threads
  ours unchecked checksum=0
done
for name in registered plain threads unchecked; do echo "$name: $(cat "$work/$name.step")"; done
for way in write read; do
  for name in fio_io_uring fio_libaio registered plain threads unchecked; do
    printf '%-6s %-13s MB/s %s' $way $name "$(spread "$work/$name.$way")"
    if [ "${name#fio}" = "$name" ]; then
      paste "$work/$name.$way" "$work/fio.$way" | awk '{ print $1 / $2 }' >"$work/ratio"
      printf '; over fio: %s' "$(spread "$work/ratio")"
    fi
    echo
  done
done
for name in registered plain threads; do
  printf 'both ways at once, each, %s: MB/s %s\n' $name "$(spread "$work/$name.both ways, each")"
done
