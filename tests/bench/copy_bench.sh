#!/usr/bin/env bash
# Measures one file to N hosts: `dslaunch copy`, `pdcp -R ssh` and `clush -c`, in turn.
# Usage: copy_bench.sh [--hosts 64] [--mib 128] [--runs 3] [--tree 2] [--where memory|FOLDER] [--link MBIT] [--no-warm-up]
# Each host is a loopback address with an sshd in a mount namespace of its own. `--where memory`: each writes to a tmpfs of
# its own, so 64 files of 128 MiB take 8 GiB of memory. `--where FOLDER`: each writes to a folder below FOLDER, and the time
# includes `sync` of that file system. What does not fit with 2 GiB to spare is refused, so choose --hosts for --mib: 16 files
# of 1 GiB take 16 GiB. Files are removed after each copy, outside of the measured time.
# `--link MBIT`: each host, and this one, is a network namespace whose link sends and receives at most MBIT Mbit/s, as in a
# cluster, where links and not processors limit a copy. Without it, hosts are reached over loopback.
# All hosts and all clients share the processors of this machine, so the times are the processor time of the whole copy, on
# both sides. The programs take turns in being first, after a copy that is not measured: memory that a virtual machine has
# not used before costs whoever uses it first.
# Prints seconds of each round, and the median ratio with its spread. Aim: at least 2 times as fast as both.
set -u
SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BIN=${DS_BIN:-$SOURCE/build/release/bin}
hosts=64 mib=128 runs=3 tree=2 where=memory link= warm_up=yes
while [ $# -gt 0 ]; do
  case $1 in
    --hosts) hosts=$2; shift 2 ;;
    --mib) mib=$2; shift 2 ;;
    --runs) runs=$2; shift 2 ;;
    --tree) tree=$2; shift 2 ;;
    --where) where=$2; shift 2 ;;
    --link) link=$2; shift 2 ;;
    --no-warm-up) warm_up=; shift ;;
    *) sed -n '2,15p' "$0"; exit 64 ;;
  esac
done
for tool in pdcp clush unshare nsenter; do
  command -v "$tool" > /dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "SKIP: mount namespaces need root"; exit 77; }
if [ "$where" = memory ]; then
  free=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
else
  mkdir -p "$where" || exit 64
  free=$(df -m --output=avail "$where" | tail -n 1)
fi
[ $((hosts * mib + mib + 2048)) -le "$free" ] || { echo "copy_bench: $hosts files of $mib MiB do not fit into $free MiB; use fewer --hosts"; exit 64; }
. "$SOURCE/tests/support/sshd.sh"
. "$SOURCE/tests/support/netns.sh"
sshd_need
dir=$(mktemp -d)
store=
[ "$where" = memory ] || store=$(mktemp -d -p "$where")
stop_all() {
  local i
  if [ -n "$link" ]; then
    netns_down
  else
    for ((i = 0; i < hosts; i++)); do sshd_stop "$dir/$i"; done
  fi
  rm -rf "$dir" ${store:+"$store"}
}
trap stop_all EXIT
mkdir "$dir/node"
addresses=() folders=() prefix=()
mount_of() { # HOST: what makes $dir/node the host's own folder
  if [ "$where" = memory ]; then
    echo "mount -t tmpfs -o size=$((mib + 64))m none $dir/node"
  else
    mkdir "$store/$1"
    echo "mount --bind $store/$1 $dir/node"
  fi
}
loopback_hosts() {
  local port i address
  sshd_setup "$dir"
  port=$(free_port)
  for ((i = 0; i < hosts; i++)); do
    address=127.0.$((1 + i / 250)).$((1 + i % 250))
    addresses+=("$address") folders+=("$dir/$i")
    sshd_know "$dir" "[$address]:$port"
    mkdir "$dir/$i"
    cp "$dir/host_key" "$dir/authorized_keys" "$dir/$i"
    SSHD_START="unshare -m sh $dir/start.sh $dir/$i"
    echo "$(mount_of "$i")"' && exec /usr/sbin/sshd -f "$1/sshd_config" -E "$1/sshd.log"' > "$dir/start.sh"
    sshd_start "$dir/$i" "$address" "$port" "Subsystem sftp internal-sftp" || exit 1
  done
  printf 'Host *\nPort %s\n' "$port" >> "$dir/ssh_config"
}
limit() { ip netns exec "$1" tc qdisc add dev "$2" root tbf rate "${link}mbit" burst 256kb latency 50ms || exit 1; } # NAMESPACE DEVICE
linked_hosts() {
  local i
  netns_need
  netns_sshd_lines=("Subsystem sftp internal-sftp")
  netns_start_lines='case $(hostname) in'
  for ((i = 1; i <= hosts; i++)); do
    addresses+=("node$i") folders+=("$dir/node$i")
    netns_start_lines+=" node$i) $(mount_of "$i") ;;"
  done
  netns_start_lines+=' esac'
  netns_up "$dir" "$hosts" || exit 1
  prefix=(ip netns exec "$head_ns")
  limit "$head_ns" br0
  for ((i = 1; i <= hosts; i++)); do limit "$(node_ns "$i")" eth0 && limit "$head_ns" "leg$i"; done
}
if [ -n "$link" ]; then linked_hosts; else loopback_hosts; fi
list=$(IFS=,; echo "${addresses[*]}")
head -c "${mib}M" /dev/urandom > "$dir/file"

run_ours() { "${prefix[@]}" "$BIN/dslaunch" copy --ssh-config "$dir/ssh_config" --tree "$tree" -w "$list" "$dir/file" "$dir/node/"; }
run_pdcp() {
  PDSH_SSH_ARGS_APPEND="-q -F $dir/ssh_config" "${prefix[@]}" pdcp -R ssh -f "$hosts" -w "$list" -e "$(command -v pdcp)" "$dir/file" "$dir/node/"
}
run_clush() { "${prefix[@]}" clush -q -f "$hosts" -o "-q -F $dir/ssh_config" -w "$list" -c "$dir/file" --dest "$dir/node/"; }
on_host() { local i=$1; shift; nsenter -m -t "$(cat "${folders[i]}/sshd.pid")" "$@"; }
run_and_sync() { "run_$1" && { [ "$where" = memory ] || sync -f "$store"; }; }
# Runs run_$1; sets took[$1] to the seconds. Checks that every host has the file, and removes it.
declare -A took
measure() {
  local TIMEFORMAT=%R i
  [ "$where" = memory ] || sync -f "$store"
  took[$1]=$({ time run_and_sync "$1" > "$dir/said" 2>&1; } 2>&1) || { echo "FAIL: $1"; tail -5 "$dir/said"; exit 1; }
  for ((i = 0; i < hosts; i++)); do
    on_host "$i" cmp "$dir/file" "$dir/node/file" || { echo "FAIL: $1: host $i"; tail -5 "$dir/said"; exit 1; }
    on_host "$i" rm "$dir/node/file"
  done
}
echo "$hosts hosts, $mib MiB, $runs rounds, --tree $tree, --where ${where%%/*}${store:+a folder on $(df --output=fstype "$store" | tail -n 1)},${link:+ links of $link Mbit/s,} $(nproc) cores"
[ -z "$warm_up" ] || { measure ours; echo "not measured: dslaunch ${took[ours]} s"; }
declare -A ratios=([pdcp]= [clush]=)
order=(ours pdcp clush)
for ((run = 1; run <= runs; run++)); do
  for name in "${order[@]}"; do measure "$name"; done
  printf 'round %s (%s first): dslaunch %s s' "$run" "${order[0]/ours/dslaunch}" "${took[ours]}"
  for other in pdcp clush; do
    ratio=$(awk "BEGIN { printf \"%.2f\", ${took[$other]} / ${took[ours]} }")
    ratios[$other]+="$ratio "
    printf ', %s %s s (%s)' "$other" "${took[$other]}" "$ratio"
  done
  echo
  order=("${order[@]:1}" "${order[0]}")
done
for other in pdcp clush; do
  echo "ratio $other / dslaunch: $(printf '%s\n' ${ratios[$other]} | sort -g |
    awk '{ v[NR] = $1 } END { printf "median %.2f, from %.2f to %.2f", v[int((NR + 1) / 2)], v[1], v[NR] }')"
done
