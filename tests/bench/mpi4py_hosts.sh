#!/usr/bin/env bash
# Runs mpi4py's own test suite on 3 hosts over ssh, under dslaunch and under the launcher of the MPI library (mpi4py_suite.py).
# Usage: mpi4py_hosts.sh mpich|openmpi|impi VENV SUITE OUT [--side ours|theirs|both] [--ranks-per-host 2] [--hosts 3] [ARGUMENTS OF mpi4py_suite.py run...]
# The hosts are network namespaces of this machine, each with an sshd, a host name, an address and a /dev/shm of its own. The
# launcher runs on one more, the head, which has no ranks. VENV is a Python environment with the MPI library, mpi4py and NumPy;
# SUITE is the folder test/ of mpi4py's source; results go to OUT/ours.tsv and OUT/theirs.tsv. README: mpi4py_results.md.
set -u
SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BIN=${DS_BIN:-$SOURCE/build/release/bin}
[ $# -ge 4 ] || { sed -n '2,6p' "$0"; exit 64; }
library=$1 venv=$(realpath "$2") suite=$(realpath "$3") out=$(realpath "$4")
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
# The mark of a job reaches every process on the hosts, so that mpi4py_suite.py finds those that are left.
netns_sshd_lines=("AcceptEnv MPI4PY_SUITE_JOB")
netns_up "$dir" "$hosts" || exit 1
echo "SendEnv MPI4PY_SUITE_JOB" >> "$dir/ssh_config"
printf '#!/bin/sh\nexec ssh -F %s "$@"\n' "$dir/ssh_config" > "$dir/ssh"
chmod 755 "$dir/ssh"
for ((i = 1; i <= hosts; i++)); do
  echo "node$i slots=$per_host" >> "$dir/hosts"
  echo "node$i:$per_host" >> "$dir/hydra_hosts"
done

# Settings of the library, for both launchers: the network of the hosts, and ranks that give up the processor while they wait,
# because all ranks share the processors of this machine.
case $library in
  mpich)
    settings=(MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp FI_TCP_IFACE=eth0 MPIR_CVAR_POLLS_BEFORE_YIELD=1)
    options=(-f "$dir/hydra_hosts" -launcher ssh -launcher-exec "$dir/ssh")
    ;;
  impi)
    settings=(I_MPI_FABRICS=shm:ofi FI_PROVIDER=tcp FI_TCP_IFACE=eth0 I_MPI_THREAD_YIELD=3)
    options=(-f "$dir/hydra_hosts" -bootstrap ssh -bootstrap-exec "$dir/ssh")
    ;;
  openmpi)
    settings=(OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_btl_base_warn_component_unused=0)
    options=(--hostfile "$dir/hosts" --prtemca plm_ssh_agent "$dir/ssh" -x MPI4PY_SUITE_JOB)
    ;;
  *) echo "mpi4py_hosts: unknown library '$library'"; exit 64 ;;
esac
export "${settings[@]}"
for side in $sides; do
  if [ "$side" = ours ]; then
    options=(--hostfile "$dir/hosts" --ssh-config "$dir/ssh_config" -x MPI4PY_SUITE_JOB)
    for setting in "${settings[@]}"; do options+=(-x "$setting"); done
  fi
  # Hydra tells the hosts to connect to the name of the machine that it runs on.
  on_head unshare --uts sh -c 'hostname head; exec "$@"' sh "$venv/bin/python" "$SOURCE/tests/bench/mpi4py_suite.py" run "$side" --out "$out" --library "$library" --suite "$suite" \
    --python "$venv/bin/python" --dslaunch "$BIN/dslaunch" --ranks $((hosts * per_host)) "$@" --options "${options[@]}" || exit
done
