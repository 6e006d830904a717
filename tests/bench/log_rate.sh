#!/usr/bin/env bash
# How many short log lines a second dslaunch merges from local ranks, beside the same ranks writing to
# /dev/null without it. Usage: log_rate.sh [RUNS] [RANKS] [LINES of each]   (DS_BIN: folder of the binaries)
set -eu
bin=${DS_BIN:-$(cd "$(dirname "$0")/../.." && pwd)/build/release/bin}
runs=${1:-5} ranks=${2:-2} lines=${3:-3000000}
line='step 1234 loss 3.4567 lr 0.0003'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A file to write out, so that what makes the lines costs next to nothing.
awk -v line="$line" -v n="$lines" 'BEGIN {while (n-- > 0) print line}' >"$work/log"

alone() {
  local i
  for ((i = 0; i < ranks; ++i)); do cat "$work/log" & done
  wait
}
merged() { "$bin/dslaunch" -n "$ranks" -- cat "$work/log"; }
# Microseconds that a command takes, its output through a pipe.
time_of() {
  local start=${EPOCHREALTIME/./} end
  "$@" | cat >/dev/null
  end=${EPOCHREALTIME/./}
  echo $((end - start))
}

for _ in $(seq "$runs"); do
  echo "alone $(time_of alone)"
  echo "merged $(time_of merged)"
done >"$work/times"
total=$((ranks * lines))
counted=$(merged | wc -l)
[ "$counted" = "$total" ] || { echo "$counted lines came, not $total"; exit 1; }
echo "$ranks ranks, $lines lines of ${#line} bytes each, through a pipe, $runs runs in turn:"
for name in alone merged; do
  awk -v n=$name '$1 == n {print $2}' "$work/times" | sort -n | awk -v name=$name -v total="$total" '
    {v[NR] = $1}
    END {printf "%-8s median %7.2f M lines/s, slowest %7.2f, fastest %7.2f\n", name,
         total / v[int((NR + 1) / 2)], total / v[NR], total / v[1]}'
done
