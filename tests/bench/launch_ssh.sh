#!/usr/bin/env bash
# Measures a launch of `true` on N loopback addresses of one sshd: dslaunch against `pdsh -R ssh -f 64`, pairs in turn.
# Usage: launch_ssh.sh [--hosts 256] [--runs 5] [--with dslaunch|probe]
#   dslaunch   the whole launcher: agent, guard and shim on each host (default if it is built)
#   probe      the ssh transport alone, with `true` as its remote command
# Prints seconds of each pair, the median ratio with its spread, and client CPU per host. Aims: at least 4.2 times pdsh's
# speed with 256 hosts, 4 times with 64, 5 times with one. The CPU is printed without an aim.
set -u
SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BIN=${DS_BIN:-$SOURCE/build/release/bin}
TESTS=${DS_TESTS:-$SOURCE/build/release/tests}
hosts=256 runs=5 with=dslaunch
while [ $# -gt 0 ]; do
  case $1 in
    --hosts) hosts=$2; shift 2 ;;
    --runs) runs=$2; shift 2 ;;
    --with) with=$2; shift 2 ;;
    *) sed -n '2,8p' "$0"; exit 64 ;;
  esac
done
command -v pdsh > /dev/null || { echo "SKIP: pdsh is not installed"; exit 77; }
. "$SOURCE/tests/support/sshd.sh"
sshd_need
dir=$(mktemp -d)
trap 'sshd_stop "$dir"; rm -rf "$dir"' EXIT
sshd_setup "$dir"
port=$(free_port)

addresses=() # 127.0.1.1 .. 127.0.1.250, 127.0.2.1 ...
for ((i = 0; i < hosts; i++)); do addresses+=("127.0.$((1 + i / 250)).$((1 + i % 250))"); done
for address in "${addresses[@]}"; do known+=("[$address]:$port"); done
sshd_know "$dir" "${known[@]}" # plain names, one line each
printf '%s\n' "${addresses[@]}" > "$dir/hosts"
sshd_start "$dir" 0.0.0.0 "$port"
sed "s/$/ port=$port/" "$dir/hosts" > "$dir/hostfile"
list=$(IFS=,; echo "${addresses[*]}")

run_ours() {
  if [ "$with" = probe ]; then
    "$TESTS/ssh_probe" -F "$dir/ssh_config" -p "$port" -c true "${addresses[@]}" 2> "$dir/ours.err"
  else
    "$BIN/dslaunch" --hostfile "$dir/hostfile" --ssh-config "$dir/ssh_config" -- true > "$dir/ours.out" 2> "$dir/ours.err"
  fi
}
run_pdsh() {
  PDSH_SSH_ARGS_APPEND="-q -F $dir/ssh_config -p $port" pdsh -R ssh -S -f 64 -w "$list" true > "$dir/pdsh.out" 2>&1
}
# Runs "$@"; sets seconds and cpu (user + system time of the client's processes).
measure() {
  local TIMEFORMAT='%R %U %S' line
  line=$({ time "$@"; } 2>&1) || { echo "FAIL: $*: $line"; cat "$dir"/ours.err "$dir"/pdsh.out 2> /dev/null | tail -5; exit 1; }
  read -r seconds user system <<< "$line"
  cpu=$(awk "BEGIN { print $user + $system }")
}

echo "$hosts hosts, $runs pairs, one sshd on $(nproc) cores, ours = $with"
ratios=() own_cpu=()
for ((run = 1; run <= runs; run++)); do
  measure run_ours; ours=$seconds ours_cpu=$cpu
  measure run_pdsh; theirs=$seconds theirs_cpu=$cpu
  ratios+=("$(awk "BEGIN { print $theirs / $ours }")")
  own_cpu+=("$(awk "BEGIN { print 1000 * $ours_cpu / $hosts }")")
  awk "BEGIN { printf \"pair %d: ours %.2f s, pdsh %.2f s, ratio %.2f; client CPU a host: ours %.2f ms, pdsh %.1f ms\n\",
    $run, $ours, $theirs, $theirs / $ours, 1000 * $ours_cpu / $hosts, 1000 * $theirs_cpu / $hosts }"
done
summary() { printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { printf "median %.2f, from %.2f to %.2f", v[int((NR + 1) / 2)], v[1], v[NR] }'; }
echo "ratio pdsh / ours: $(summary "${ratios[@]}")"
echo "client CPU a host, ms: $(summary "${own_cpu[@]}")"
