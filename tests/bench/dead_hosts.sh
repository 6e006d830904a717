#!/usr/bin/env bash
# CPU time of dslaunch where no host answers: a job with as many spares as hosts, and exec. All of it happens in a network
# namespace without a route, so every connection is refused by the kernel at once.
# Run on demand; the last results are in launch_results.md. Aim: at most 5 s of CPU for 10,000 hosts.
# Usage: dead_hosts.sh [--hosts 10000]
set -eu
SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BIN=${DS_BIN:-$SOURCE/build/release/bin}
hosts=10000
while [ $# -gt 0 ]; do
  case $1 in
    --hosts) hosts=$2; shift 2 ;;
    *) sed -n '2,6p' "$0"; exit 64 ;;
  esac
done
unshare -rn true 2> /dev/null || { echo "SKIP: this system does not allow network namespaces"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for ((i = 0; i < hosts; i++)); do echo "10.$((i / 65536)).$((i / 256 % 256)).$((i % 256)) slots=8"; done > "$dir/hosts"
TIMEFORMAT='%U %S %R'
# measure NAME STATUS ARGS...: prints seconds; fails if the run does not end with STATUS
measure() {
  local name=$1 want=$2 status=0 times
  shift 2
  times=$({ time timeout 600 unshare -rn "$BIN/dslaunch" "$@" > "$dir/out" 2> "$dir/err" < /dev/null || status=$?
    [ "$status" = "$want" ] || echo "FAIL: exit code $status, expected $want: $(tail -n 1 "$dir/err")"; } 2>&1)
  case $times in FAIL*) echo "$name: $times" && exit 1 ;; esac
  awk -v name="$name" -v hosts="$hosts" '{ printf "%s, %d dead hosts: %.2f s of CPU, over after %.2f s\n", name, hosts, $1 + $2, $3 }' <<< "$times"
}
measure "job" 69 --hostfile "$dir/hosts" --connect-timeout 5 -- true
measure "job, half of them spares" 69 --hostfile "$dir/hosts" --connect-timeout 5 --spares $((hosts / 2)) --max-restarts 3 -- true
measure "exec -S" 69 exec --hostfile "$dir/hosts" -t 5 -S -- true
