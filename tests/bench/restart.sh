#!/usr/bin/env bash
# Time from the death of a rank until all ranks run again (exec done) with --max-restarts: median and range of RUNS jobs, from the
# verdict. Ranks end at once on TERM, so this is dslaunch's own time.
# Usage: restart.sh [RANKS] [RUNS]   Needs: DS_BIN.
set -u
ranks=${1:-8}
runs=${2:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
measure() { # NAME ARGS...
  local name=$1 i
  shift
  : >seconds
  for ((i = 0; i < runs; i++)); do
    rm -f up.*
    "$DS_BIN/dslaunch" --max-restarts 1 --verdict v.json "$@" -- sh -c '
      [ $TORCHELASTIC_RESTART_COUNT = 0 ] || exit 0
      : >up.$RANK; [ $RANK = 1 ] || exec sleep 50
      while [ $(ls up.* | wc -l) -lt $WORLD_SIZE ]; do sleep 0.01; done; exit 3' 2>err >/dev/null || { cat err; exit 1; }
    grep -A1 '"cause": "rank 1' v.json | sed -n 's/.*"seconds": //p' >>seconds
  done
  sort -n seconds | awk -v name="$name" '{ t[NR] = $1 * 1000 }
    END { printf "%s: median %.1f ms, %.1f to %.1f ms, %d runs\n", name, t[int((NR + 1) / 2)], t[1], t[NR], NR }'
}
printf 'n0 slots=%d\n' "$ranks" >one
for ((i = 0; i < 4; i++)); do printf 'n%d slots=%d\n' "$i" $(((ranks + 3) / 4)); done >four
measure "$ranks ranks, one agent" --transport local --hostfile one
measure "$ranks ranks, four agents" --transport local --hostfile four
