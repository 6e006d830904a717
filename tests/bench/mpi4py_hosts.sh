#!/usr/bin/env bash
# Runs mpi4py's own test suite on 3 hosts over ssh, under dslaunch and under the launcher of the MPI library (mpi4py_suite.py).
# Usage: mpi4py_hosts.sh mpich|openmpi|impi VENV SUITE OUT [--side ours|theirs|both] [--hosts 3] [--ranks-per-host 2]
#        [ARGUMENTS OF mpi4py_suite.py run...]
# The hosts are network namespaces of this machine, each with an sshd, a host name, an address and a /dev/shm of its own. The
# launcher runs on one more, the head, which has no ranks. VENV is a Python environment with the MPI library, mpi4py and NumPy;
# SUITE is the folder test/ of mpi4py's source; results go to OUT/ours.tsv and OUT/theirs.tsv. README: mpi4py_results.md.
set -u
SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BIN=${DS_BIN:-$SOURCE/build/release/bin}
[ $# -ge 4 ] || { sed -n '2,7p' "$0"; exit 64; }
library=$1 venv=$(realpath "$2") suite=$(realpath "$3") out=$(realpath -m "$4")
shift 4
sides="theirs ours" hosts=3 per_host=2
while [ $# -gt 0 ]; do
  case $1 in
    --side) sides=${2/both/theirs ours}; shift 2 ;;
    --hosts) hosts=$2; shift 2 ;;
    --ranks-per-host) per_host=$2; shift 2 ;;
    *) break ;;
  esac
done
. "$SOURCE/tests/support/sshd.sh"
. "$SOURCE/tests/support/netns.sh"
netns_need
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
netns_up "$dir" "$hosts" || exit 1
printf '#!/bin/sh\nexec ssh -F %s "$@"\n' "$dir/ssh_config" > "$dir/ssh"
chmod 755 "$dir/ssh"
namespaces=
for ((i = 1; i <= hosts; i++)); do
  echo "node$i slots=$per_host" >> "$dir/hosts"
  echo "node$i:$per_host" >> "$dir/hydra_hosts"
  namespaces+=${namespaces:+,}$(node_ns "$i")
done

# All ranks share the processors of this machine. Ranks that poll, even those that call sched_yield between polls, leave little
# of them to the rank that has work, so in the ranks sched_yield sleeps.
cat > "$dir/yield.c" << 'END'
#include <time.h>
int sched_yield(void) {
  struct timespec pause = {0, 50000};
  return nanosleep(&pause, 0);
}
END
cc -shared -fPIC -O1 -o "$dir/yield.so" "$dir/yield.c" || exit 1

# Settings of the library, for both launchers: the network of the hosts, and calls of sched_yield after each poll in vain.
sleepy=LD_PRELOAD=$dir/yield.so
case $library in
  mpich)
    settings=(MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp FI_TCP_IFACE=eth0 MPIR_CVAR_POLLS_BEFORE_YIELD=1)
    options=(-f "$dir/hydra_hosts" -launcher ssh -launcher-exec "$dir/ssh" -genv LD_PRELOAD "$dir/yield.so")
    ;;
  impi)
    settings=(I_MPI_FABRICS=shm:ofi FI_PROVIDER=tcp FI_TCP_IFACE=eth0 I_MPI_THREAD_YIELD=2 I_MPI_SPIN_COUNT=1)
    options=(-f "$dir/hydra_hosts" -bootstrap ssh -bootstrap-exec "$dir/ssh" -genv LD_PRELOAD "$dir/yield.so")
    ;;
  openmpi)
    settings=(OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_btl_base_warn_component_unused=0)
    options=(--hostfile "$dir/hosts" --prtemca plm_ssh_agent "$dir/ssh" -x "$sleepy")
    ;;
  *) echo "mpi4py_hosts: unknown library '$library'"; exit 64 ;;
esac
export "${settings[@]}"
for side in $sides; do
  if [ "$side" = ours ]; then
    options=(--hostfile "$dir/hosts" --ssh-config "$dir/ssh_config" -x "$sleepy")
    for setting in "${settings[@]}"; do options+=(-x "$setting"); done
  fi
  # Hydra tells the hosts to connect to the name of the machine that it runs on.
  on_head unshare --uts sh -c 'hostname head; exec "$@"' sh \
    "$venv/bin/python" "$SOURCE/tests/bench/mpi4py_suite.py" run "$side" --out "$out" --library "$library" --suite "$suite" \
    --python "$venv/bin/python" --dslaunch "$BIN/dslaunch" --ranks $((hosts * per_host)) --namespaces "$namespaces" "$@" \
    --options "${options[@]}" || exit
done
