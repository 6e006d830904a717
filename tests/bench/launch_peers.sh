#!/usr/bin/env bash
# Compares launch times of `true`, one process per host, on N loopback addresses of one sshd: dslaunch, pdsh, clush, Open MPI's
# mpirun (flat) and MPICH's mpiexec.hydra in turn, all over OpenSSH with one config and 64 connections at once where a launcher
# has such a limit. Run on demand; the last results are in launch_results.md.
# Usage: launch_peers.sh [--hosts 256] [--rounds 3] [--limit 120] [--hashed] [--only LAUNCHER,...] [--mpi mpich|openmpi]
#   --limit S    a launcher that takes longer is ended, recorded and left out of the rest
#   --hashed     known_hosts with hashed names
#   --mpi LIB    a program that calls MPI_Init and MPI_Finalize, in place of true; the peer is the launcher of that library
# Prints seconds of each round, each launcher's median, the ratio of the best of the others to dslaunch within each round,
# and dslaunch's client CPU a host. Target: 4.2 times with 256 hosts, 4 times with 64.
set -u
SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BIN=${DS_BIN:-$SOURCE/build/release/bin}
hosts=256 rounds=3 limit=120 hashed=0 only= mpi=
while [ $# -gt 0 ]; do
  case $1 in
    --hosts) hosts=$2; shift 2 ;;
    --rounds) rounds=$2; shift 2 ;;
    --limit) limit=$2; shift 2 ;;
    --hashed) hashed=1; shift ;;
    --only) only=$2; shift 2 ;;
    --mpi) mpi=$2; shift 2; case $mpi in mpich) only=hydra ;; openmpi) only=mpirun ;; esac ;;
    *) sed -n '2,11p' "$0"; exit 64 ;;
  esac
done
. "$SOURCE/tests/support/sshd.sh"
sshd_need
peers=()
for peer in pdsh:pdsh clush:clush mpirun:mpirun.openmpi hydra:mpiexec.hydra; do
  if [ -n "$only" ] && [[ ",$only," != *",${peer%:*},"* ]]; then continue; fi
  if command -v "${peer#*:}" > /dev/null; then peers+=("${peer%:*}"); else echo "${peer%:*}: not installed"; fi
done
[ ${#peers[@]} -gt 0 ] || { echo "SKIP: none of pdsh, clush, mpirun.openmpi, mpiexec.hydra is installed"; exit 77; }

dir=$(mktemp -d)
cookie=bench-$$-$RANDOM$RANDOM
# Ends what a killed launcher has left on the hosts. Only processes started by this script's sshd carry the cookie.
clear_hosts() {
  local file
  for file in $(grep -ls "DS_BENCH=$cookie" /proc/[0-9]*/environ); do
    file=${file#/proc/}
    kill -9 "${file%/environ}" 2> /dev/null
  done
}
trap 'sshd_stop "$dir"; clear_hosts; rm -rf "$dir"' EXIT
sshd_setup "$dir"
port=$(free_port)
names=()
for ((i = 0; i < hosts; i++)); do
  address=127.0.$((1 + i / 250)).$((1 + i % 250)) # 127.0.1.1 .. 127.0.1.250, 127.0.2.1 ...
  # Names that only ssh knows, because MPI launchers would treat a loopback address as this machine and not use ssh.
  names+=("$(printf 'bench%04d' "$i")")
  known+=("[$address]:$port")
  printf 'Host %s\n  HostName %s\n' "${names[i]}" "$address" >> "$dir/blocks"
done
{ echo "Port $port"; cat "$dir/ssh_config" "$dir/blocks"; } > "$dir/config"
sshd_know "$dir" "${known[@]}"
[ $hashed = 0 ] || ssh-keygen -q -H -f "$dir/known_hosts" > /dev/null 2>&1
printf '%s\n' "${names[@]}" > "$dir/hostfile"
sed 's/$/ slots=1/' "$dir/hostfile" > "$dir/mpirun_hosts"
sed 's/$/:1/' "$dir/hostfile" > "$dir/hydra_hosts"
list=$(IFS=,; echo "${names[*]}")
program=true
if [ -n "$mpi" ]; then
  program=$dir/program
  echo '#include <mpi.h>
int main(int argc, char** argv) { MPI_Init(&argc, &argv); return MPI_Finalize(); }' > "$dir/program.c"
  "mpicc.$mpi" -O1 -o "$program" "$dir/program.c" || { echo "SKIP: mpicc.$mpi is not installed"; exit 77; }
fi
sshd_start "$dir" 0.0.0.0 "$port" "SetEnv SHLVL=1 DS_BENCH=$cookie"

start_dslaunch() { "$BIN/dslaunch" --hostfile "$dir/hostfile" --ssh-config "$dir/config" -- "$program"; }
start_pdsh() { PDSH_SSH_ARGS_APPEND="-q -F $dir/config" pdsh -R ssh -S -f 64 -w "$list" true; }
start_clush() { clush -S -f 64 -o "-q -F $dir/config" -w "$list" true; }
start_mpirun() {
  mpirun.openmpi --allow-run-as-root --mca plm_rsh_agent "ssh -q -F $dir/config" --mca plm_rsh_no_tree_spawn 1 \
    --mca plm_rsh_num_concurrent 64 --hostfile "$dir/mpirun_hosts" -np "$hosts" "$program"
}
start_hydra() { HYDRA_LAUNCHER_EXTRA_ARGS="-q -F $dir/config" mpiexec.hydra -launcher ssh -f "$dir/hydra_hosts" -n "$hosts" "$program"; }
# Runs launcher $1 under the limit; sets status, seconds and cpu (user + system time of the launcher's processes, without the
# shell that starts it).
measure() {
  local TIMEFORMAT=%R
  export -f "start_$1"
  echo "0 0" > "$dir/cpu_times"
  seconds=$({ time timeout -k 5 "$limit" bash -c "TIMEFORMAT='%U %S'; { time start_$1 > '$dir/$1.out' 2>&1; } 2> '$dir/cpu_times'" \
    > /dev/null 2>&1; echo $? > "$dir/status"; } 2>&1)
  status=$(cat "$dir/status")
  read -r user system < "$dir/cpu_times"
  cpu=$(awk "BEGIN { print ${user:-0} + ${system:-0} }") # 0 for a launcher that was killed
}
export BIN dir list hosts program
median() { sort -g | awk '{ v[NR] = $1 } END { printf "median %.2f, from %.2f to %.2f", v[int((NR + 1) / 2)], v[1], v[NR] }'; }

echo "$hosts hosts, $rounds rounds, one sshd on $(nproc) cores, known_hosts $([ $hashed = 1 ] && echo hashed || echo plain)"
declare -A out=()
for ((round = 1; round <= rounds; round++)); do
  line="round $round:" best=
  for launcher in dslaunch "${peers[@]}"; do
    [ -z "${out[$launcher]:-}" ] || continue
    measure "$launcher"
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
      out[$launcher]="did not finish within $limit s"
      clear_hosts
    elif [ "$status" != 0 ]; then
      out[$launcher]="ended with status $status: $(tail -n 1 "$dir/$launcher.out" | cut -c1-200)"
    fi
    if [ -n "${out[$launcher]:-}" ]; then line+=" $launcher: ${out[$launcher]};"; continue; fi
    line+=" $launcher $seconds s;"
    echo "$seconds" >> "$dir/$launcher.seconds"
    if [ "$launcher" = dslaunch ]; then
      ours=$seconds
      awk "BEGIN { print 1000 * $cpu / $hosts }" >> "$dir/cpu"
    elif [ -z "$best" ] || awk "BEGIN { exit !($seconds < $best) }"; then
      best=$seconds
    fi
  done
  [ -z "${out[dslaunch]:-}" ] || { echo "$line"; echo "FAIL: dslaunch ${out[dslaunch]}"; exit 1; }
  if [ -n "$best" ]; then awk "BEGIN { print $best / $ours }" >> "$dir/ratios"; line+=" best of the others / dslaunch: $(tail -n 1 "$dir/ratios")"; fi
  echo "$line"
done
for launcher in dslaunch "${peers[@]}"; do
  if [ -n "${out[$launcher]:-}" ]; then echo "$launcher: ${out[$launcher]}: left out"; else echo "$launcher, s: $(median < "$dir/$launcher.seconds")"; fi
done
[ ! -s "$dir/ratios" ] || echo "ratio of the best of the others to dslaunch: $(median < "$dir/ratios") (target: at least 4.2 with 256 hosts, 4 with 64)"
echo "client CPU a host, ms: $(median < "$dir/cpu")"
