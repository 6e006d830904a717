#!/usr/bin/env bash
# Compares the file rates of offloading with fio's on the same folder with the same blocks and depth: each I/O engine, in turn, each
# on new space that was written once before. Prints medians, ranges and the ratio to fio's io_uring of the same round, and asserts
# nothing.
#   tests/bench/nvme_bench.sh [FOLDER] [ROUNDS] [MIB] [BLOCK KIB] [DEPTH]      default: /tmp 5 960 1024 32   Needs: DS_TESTS.
# Offloading moves tiles of 48 MiB (the default of offload.optimizer.tile) one after the other: between two tiles the queue runs
# empty, which fio's never does. "both" is a reader and a writer at once on different bytes, as in offloading.
# The disk of a virtual machine shares its rate with others, so the ranges matter.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
tests=${DS_TESTS:-$source/build/release/tests}
folder=${1:-/tmp}
rounds=${2:-5}
mib=${3:-960} # a multiple of 96
block=${4:-1024}
depth=${5:-32}
command -v fio >/dev/null || { echo "skipped: the Debian package fio is not installed"; exit 77; }
work=$(mktemp -d "$folder/nvme_bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

# fio_rate read|write ENGINE: prints MB/s over a file that exists already
fio_rate() {
  local fixed=()
  [ "$2" = libaio ] || fixed=(--fixedbufs=1 --registerfiles=1)
  fio --name=bench --directory="$work" --filename=fio --size="${mib}m" --bs="${block}k" --iodepth="$depth" --direct=1 \
    --overwrite=1 --rw="$1" --ioengine="$2" "${fixed[@]}" --output-format=json 2>"$work/err" >"$work/json" ||
    { cat "$work/err" >&2; return 1; }
  awk -v way="$1" '$1 == "\"" way "\"" { inside = 1 } inside && $1 == "\"bw_bytes\"" { printf "%.1f\n", $3 / 1e6; exit }' "$work/json"
}
# fio_both: prints MB/s of each of a reader and a writer, in files of half the size
fio_both() {
  fio --directory="$work" --size="$((mib / 2))m" --bs="${block}k" --iodepth="$depth" --direct=1 --overwrite=1 --ioengine=io_uring \
    --fixedbufs=1 --registerfiles=1 --output-format=json --name=in --filename=in --rw=read --name=out --filename=out --rw=write \
    2>"$work/err" >"$work/json" || { cat "$work/err" >&2; return 1; }
  # The slower of the two ends last: half of all bytes in its time.
  awk '$1 == "\"runtime\"" && $3 + 0 > t { t = $3 + 0 } END { printf "%.1f\n", half / t / 1e3 }' half=$((mib / 2 * 1048576)) "$work/json"
}
# ours NAME OPTIONS...: appends to the files NAME.write and NAME.read
ours() {
  local name=$1
  shift
  "$tests/tile_traffic" folders="$work" mib="$mib" block="$block" depth="$depth" tile=48 "$@" >"$work/text"
  head -n 1 "$work/text" >"$work/$name.step"
  for way in write read both; do sed -n "s/^$way[^0-9]* \([0-9.]*\)$/\1/p" "$work/text" >>"$work/$name.$way"; done
}
spread() { sort -n "$1" | awk '{ v[NR] = $1 } END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
  printf "median %.2f, from %.2f to %.2f", m, v[1], v[NR] }'; }

echo "$folder on $(findmnt -no SOURCE,FSTYPE -T "$folder" | tr -s ' '), $(nproc) cores, $rounds rounds of $mib MiB"
for ((round = 1; round <= rounds; round++)); do
  for engine in io_uring libaio; do
    rm -f "$work/fio"
    fallocate -l "${mib}MiB" "$work/fio"
    fio_rate write $engine >/dev/null
    for way in write read; do fio_rate $way $engine >>"$work/fio_$engine.$way"; done
  done
  mv "$work/fio" "$work/in"
  cp --sparse=never "$work/in" "$work/out.0" && mv "$work/out.0" "$work/out"
  fio_both >>"$work/fio_io_uring.both"
  rm -f "$work/in" "$work/out"
  ours registered
  ours plain register=0
  ours threads engine=threads
  ours unchecked checksum=0
done
for name in registered plain threads unchecked; do echo "$name: $(cat "$work/$name.step")"; done
for way in write read both; do
  for name in fio_io_uring fio_libaio registered plain threads unchecked; do
    [ -e "$work/$name.$way" ] || continue
    printf '%-6s %-13s MB/s %s' $way $name "$(spread "$work/$name.$way")"
    if [ "${name#fio}" = "$name" ]; then
      paste "$work/$name.$way" "$work/fio_io_uring.$way" | awk '{ print $1 / $2 }' >"$work/ratio"
      printf '; over fio: %s' "$(spread "$work/ratio")"
    fi
    echo
  done
done
