#!/usr/bin/env bash
# Measures one file to N hosts: `dslaunch copy`, `pdcp -R ssh` and `clush -c`, in turn.
# Usage: copy_bench.sh [--hosts 64] [--mib 128] [--runs 3] [--tree 2]
# Each host is a loopback address with an sshd in a mount namespace of its own, and writes to a tmpfs of its own: 64 files
# of 128 MiB take 8 GiB of memory. They are removed after each copy, outside of the measured time. All hosts and all clients
# share the processors of this machine, so the times are the processor time of the whole copy, on both sides.
# Prints seconds of each round, and the median ratio with its spread. Aim: at least 2 times as fast as both.
set -u
SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BIN=${DS_BIN:-$SOURCE/build/release/bin}
hosts=64 mib=128 runs=3 tree=2
while [ $# -gt 0 ]; do
  case $1 in
    --hosts) hosts=$2; shift 2 ;;
    --mib) mib=$2; shift 2 ;;
    --runs) runs=$2; shift 2 ;;
    --tree) tree=$2; shift 2 ;;
    *) sed -n '2,8p' "$0"; exit 64 ;;
  esac
done
for tool in pdcp clush unshare nsenter; do
  command -v "$tool" > /dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "SKIP: mount namespaces need root"; exit 77; }
. "$SOURCE/tests/support/sshd.sh"
sshd_need
dir=$(mktemp -d)
stop_all() {
  local i
  for ((i = 0; i < hosts; i++)); do sshd_stop "$dir/$i"; done
  rm -rf "$dir"
}
trap stop_all EXIT
sshd_setup "$dir"
port=$(free_port)
mkdir "$dir/node"
addresses=()
for ((i = 0; i < hosts; i++)); do
  address=127.0.$((1 + i / 250)).$((1 + i % 250))
  addresses+=("$address")
  sshd_know "$dir" "[$address]:$port"
  mkdir "$dir/$i"
  cp "$dir/host_key" "$dir/authorized_keys" "$dir/$i"
  SSHD_START="unshare -m sh $dir/start.sh $dir/$i"
  echo 'mount -t tmpfs none "${1%/*}/node" && exec /usr/sbin/sshd -f "$1/sshd_config" -E "$1/sshd.log"' > "$dir/start.sh"
  sshd_start "$dir/$i" "$address" "$port" "Subsystem sftp internal-sftp" || exit 1
done
printf 'Host *\nPort %s\n' "$port" >> "$dir/ssh_config"
list=$(IFS=,; echo "${addresses[*]}")
head -c "${mib}M" /dev/urandom > "$dir/file"

run_ours() { "$BIN/dslaunch" copy --ssh-config "$dir/ssh_config" --tree "$tree" -w "$list" "$dir/file" "$dir/node/"; }
run_pdcp() {
  PDSH_SSH_ARGS_APPEND="-q -F $dir/ssh_config" pdcp -R ssh -f "$hosts" -w "$list" -e "$(command -v pdcp)" "$dir/file" "$dir/node/"
}
run_clush() { clush -q -f "$hosts" -o "-q -F $dir/ssh_config" -w "$list" -c "$dir/file" --dest "$dir/node/"; }
on_host() { local i=$1; shift; nsenter -m -t "$(cat "$dir/$i/sshd.pid")" "$@"; }
# Runs run_$1; sets seconds. Checks that every host has the file, and removes it.
measure() {
  local TIMEFORMAT=%R i
  seconds=$({ time "run_$1" > "$dir/said" 2>&1; } 2>&1) || { echo "FAIL: $1"; tail -5 "$dir/said"; exit 1; }
  for ((i = 0; i < hosts; i++)); do
    on_host "$i" cmp "$dir/file" "$dir/node/file" || { echo "FAIL: $1: host $i"; tail -5 "$dir/said"; exit 1; }
    on_host "$i" rm "$dir/node/file"
  done
}
echo "$hosts hosts, $mib MiB, $runs rounds, --tree $tree, $(nproc) cores"
declare -A ratios=([pdcp]= [clush]=)
for ((run = 1; run <= runs; run++)); do
  measure ours; ours=$seconds
  printf 'round %s: dslaunch %s s' "$run" "$ours"
  for other in pdcp clush; do
    measure $other
    ratio=$(awk "BEGIN { printf \"%.2f\", $seconds / $ours }")
    ratios[$other]+="$ratio "
    printf ', %s %s s (%s)' "$other" "$seconds" "$ratio"
  done
  echo
done
for other in pdcp clush; do
  echo "ratio $other / dslaunch: $(printf '%s\n' ${ratios[$other]} | sort -g |
    awk '{ v[NR] = $1 } END { printf "median %.2f, from %.2f to %.2f", v[int((NR + 1) / 2)], v[1], v[NR] }')"
done
