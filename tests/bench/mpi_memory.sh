#!/usr/bin/env bash
# Memory of the launcher while MPI ranks exchange keys: 64 ranks on 8 agents, 10,000 keys of 86 to 96 bytes a rank.
# Usage: mpi_memory.sh [--keys 10000]
# Prints the bytes of all keys and values, how much the launcher's largest resident memory grew against a run with one key, and
# the ratio. Aim: at most 2.
set -u
SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BIN=${DS_BIN:-$SOURCE/build/release/bin}
probe=${DS_TESTS:-$SOURCE/build/release/tests}/pmi_probe
keys=10000
[ "${1:-}" != --keys ] || keys=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# most COUNT: runs it, sets kib to the launcher's largest resident memory
most() {
  local hosts=n1:8,n2:8,n3:8,n4:8,n5:8,n6:8,n7:8,n8:8 seen
  "$BIN/dslaunch" -H $hosts --transport local --mpi pmi1 -- "$probe" many "$1" > "$dir/out" 2> "$dir/err" < /dev/null &
  local launcher=$!
  kib=0
  while kill -0 "$launcher" 2> /dev/null; do
    seen=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$launcher/status" 2> /dev/null)
    kib=${seen:-$kib}
    sleep 0.05
  done
  wait "$launcher" || { echo "FAIL: $(tail -n 3 "$dir/err")"; exit 1; }
}
most 64
base=$kib
most $((64 * keys))
count=$((64 * keys))
bytes=$(seq 0 $((count - 1)) | awk '{ sum += 85 + 2 * length($1) } END { printf "%d", sum }')
awk "BEGIN { printf \"%d keys, %.1f MB; the launcher's memory grew by %.1f MB: %.2f times\n\", $count, $bytes / 1e6, ($kib - $base) * 1024 / 1e6, ($kib - $base) * 1024 / $bytes }"
