#!/usr/bin/env bash
# Tests programs of MPICH over ssh between separate hosts (network namespaces): every rank finds every other one, those of a
# host share memory, and a rank that is killed ends the job everywhere.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
mpicc=$(command -v mpicc.mpich) || { echo "SKIP: mpicc.mpich is not installed (apt-get install libmpich-dev)"; exit 77; }
netns_need
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
netns_up "$dir" 3 || exit 1
"$mpicc" -O1 -o "$dir/checks" "$DS_SOURCE/tests/e2e/mpi/mpi_checks.c" || exit 1
printf 'node1 slots=2\nnode2 slots=1\nnode3 slots=2\n' > "$dir/hosts"
failures=0
fail() { echo "FAIL: $case: $*"; sed 's/^/    /' "$dir/out" "$dir/err"; failures=$((failures + 1)); }
run() { # CASE ARGS...; the hosts have no network but this one, so UCX must not choose another
  case=$1
  shift
  on_head timeout 90 "$DS_BIN/dslaunch" --ssh-config "$dir/ssh_config" --hostfile "$dir/hosts" -x UCX_TLS=tcp,sm,self "$@" \
    > "$dir/out" 2> "$dir/err" < /dev/null
  status=$?
}
want_status() { [ "$status" -eq "$1" ] || fail "exit $status, expected $1"; }
want() { grep -qE -- "$1" "$dir/$2" || fail "$2 has no line like: $1"; }
want_nothing_left() {
  local i node left
  for ((i = 0; i < 50; i++)); do
    left=
    for node in 1 2 3; do left+=$(node_pids "$node"); done
    [ -z "$left" ] && return
    sleep 0.1
  done
  fail "processes are left on the nodes"
}

run "five ranks on three hosts" -- "$dir/checks" all
want_status 0
want 'all checks passed, 5 ranks$' out
want_nothing_left

run "ranks that go round the hosts" --map-by node -- "$dir/checks" all
want_status 0
want 'all checks passed, 5 ranks$' out

run "PMI alone" --mpi pmi1 -- "$DS_TESTS/pmi_probe" fence 3
want_status 0
[ "$(grep -c 'is done$' "$dir/out")" = 5 ] || fail "not all ranks are done"

run "MPI_Abort ends the ranks of all hosts" -- "$dir/checks" abort 9
want_status 9
want 'rank 1 on node1 called MPI_Abort\(9\)' err
want_nothing_left

run "a rank that is killed while others wait in a fence" --mpi pmi1 -- sh -c '[ "$RANK" != 3 ] || kill -9 $$; exec "$0" fence' "$DS_TESTS/pmi_probe"
want_status 137
want 'rank 3 on node3: killed by SIGKILL \(first failure\)' err
want_nothing_left

# Open MPI 4.1 has no windows between hosts that only TCP connects, also under its own mpirun.
if mpicc=$(command -v mpicc.openmpi) && [ -e "$DS_BIN/libdslaunch_pmix.so" ]; then
  "$mpicc" -O1 -o "$dir/of_openmpi" "$DS_SOURCE/tests/e2e/mpi/mpi_checks.c" || exit 1
  openmpi=(-x OMPI_MCA_btl_tcp_if_include=eth0 -x OMPI_MCA_btl_base_warn_component_unused=0)
  run "Open MPI: five ranks on three hosts" "${openmpi[@]}" -- "$dir/of_openmpi" nodes
  want_status 0
  want 'all checks passed, 5 ranks$' out
  want_nothing_left

  run "Open MPI: ranks that go round the hosts" "${openmpi[@]}" --map-by node -- "$dir/of_openmpi" nodes
  want_status 0
  want 'all checks passed, 5 ranks$' out

  run "Open MPI: MPI_Abort ends the ranks of all hosts" "${openmpi[@]}" -- "$dir/of_openmpi" abort 9
  want_status 9
  want 'rank 1 on node1 called MPI_Abort\(9\)' err
  want_nothing_left

  run "Open MPI: a rank that leaves ends the ranks of all hosts" "${openmpi[@]}" -- "$dir/of_openmpi" early 0
  want_status 1
  want 'rank 1 on node1 exited after MPI_Init without MPI_Finalize' err
  want_nothing_left
else
  echo "not tested: Open MPI (libopenmpi-dev, and libpmix-dev at build time, are not installed)"
fi

[ "$failures" -eq 0 ] && echo "mpi between hosts: all cases passed" || { echo "$failures failed"; exit 1; }
