#!/usr/bin/env bash
# Lines a second that dslaunch merges from local ranks: short lines (seq), prefixed, into a pipe that counts them.
# Usage: log_rate.sh [RUNS] [RANKS] [LINES]   (DS_BIN: folder of the binaries; default build/release/bin)
set -eu
bin=${DS_BIN:-$(cd "$(dirname "$0")/../.." && pwd)/build/release/bin}
runs=${1:-7}
ranks=${2:-2}
lines=${3:-5000000}

# Microseconds for all lines of all ranks; every line is counted.
micros() {
  local start=${EPOCHREALTIME/./} end seen
  seen=$("$@" | wc -l)
  end=${EPOCHREALTIME/./}
  [ "$seen" = $((ranks * lines)) ] || {
    echo "only $seen of $((ranks * lines)) lines arrived" >&2
    exit 1
  }
  echo $((end - start))
}
plain() { for _ in $(seq "$ranks"); do seq "$lines" & done; wait; }

for _ in $(seq "$runs"); do
  echo "plain $(micros plain)"
  echo "dslaunch $(micros "$bin/dslaunch" -n "$ranks" -- seq "$lines")"
done | {
  samples=$(cat)
  printf '%-44s %8s %8s %8s\n' "million lines/s, $ranks ranks, $((ranks * lines)) lines, $runs runs in turn" median worst best
  for name in plain dslaunch; do
    awk -v n=$name '$1 == n {print $2}' <<<"$samples" | sort -n |
      awk -v n=$name -v all=$((ranks * lines)) '{v[NR] = all / $1}
        END {printf "%-44s %8.1f %8.1f %8.1f\n", n == "plain" ? "the same processes into one pipe" : "dslaunch", v[int((NR + 1) / 2)], v[NR], v[1]}'
  done
  echo "target: at least 3.0 on 2 cores"
}
