#!/usr/bin/env bash
# Tests programs of Open MPI on this machine: collectives, windows and shared memory against known sums, MPI_Abort, ranks that end
# early or never come, a PMIx server that dies, a node without the plugin.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
mpicc=$(command -v mpicc.openmpi) || { echo "SKIP: mpicc.openmpi is not installed (apt-get install libopenmpi-dev)"; exit 77; }
[ -e "$DS_BIN/libdslaunch_pmix.so" ] || { echo "SKIP: the PMIx plugin was not built (apt-get install libpmix-dev)"; exit 77; }
"$mpicc" -O1 -o checks "$DS_SOURCE/tests/e2e/mpi/mpi_checks.c" >log 2>&1 || die "mpicc: $(cat log)"
says() { grep -qE -- "$1" err || die "standard error has no line like: $1"; }
# Agents of one machine share /dev/shm and its host name, so that Open MPI takes ranks of different agents for neighbors: TCP alone.
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_btl_base_warn_component_unused=0
apart=(--transport local -x OMPI_MCA_btl=tcp,self)
no_segments() { [ -z "$(ls /dev/shm | grep "^vader_segment" | grep -vxFf before)" ]; }
ls /dev/shm >before

run -n 4 -- ./checks all
expect 0 'four ranks'
grep -q 'all checks passed, 4 ranks$' out || die 'four ranks: not one world of four'

run -H n1:2,n2:2 "${apart[@]}" -- ./checks collectives
expect 0 'two agents of two ranks'
grep -q 'all checks passed, 4 ranks$' out || die 'two agents: not one world of four'

run -n 1 -- ./checks all
expect 0 'one rank'

run -n 2 --mpi none -- ./checks all
grep -q 'wrong: size of the world' out || die '--mpi none: not two worlds of one'

run -n 3 --mpi pmix -- sh -c 'exec ./checks all'
expect 0 'a program behind a shell'
grep -q 'all checks passed, 3 ranks$' out || die 'a program behind a shell'

if unshare --pid --fork true 2>/dev/null; then
  run -n 2 --isolate pid -- ./checks all
  expect 0 'ranks in a PID namespace'
  grep -q 'all checks passed, 2 ranks$' out || die 'ranks in a PID namespace'
fi

DSLAUNCH_PMIX_LIBRARY=/no/lib run -n 2 --mpi any -- sh -c 'exec ./checks all'
expect 69 'a PMIx library that is named, but is not there'

run -n 1 -- ./checks all : -n 2 -- ./checks all
expect 0 'two programs in one world'
grep -q 'all checks passed, 3 ranks$' out || die 'two programs in one world'

run as mpirun --allow-run-as-root --oversubscribe -np 3 ./checks all
expect 0 'as mpirun'
grep -q 'all checks passed, 3 ranks$' out || die 'as mpirun'

run as mpirun --allow-run-as-root --oversubscribe -np 3 sh -c 'true; exec ./checks all'
expect 0 'as mpirun, a script'
grep -q 'all checks passed, 3 ranks$' out || die 'as mpirun, a script'

run -n 3 -- ./checks abort 6
expect 6 'MPI_Abort'
says 'rank 1 on .* called MPI_Abort\(6\)'
nothing_left || die 'MPI_Abort: processes are left'

for deed in names connect; do
  run --timeout 60 -H n1:2,n2:1 --transport local -- ./checks $deed
  expect 0 "published names: $deed"
  grep -q 'all checks passed, 3 ranks$' out || die "published names: $deed"
done

run -n 2 -- ./checks spawn
[ "$rc" != 0 ] || die 'MPI_Comm_spawn ended well'
says 'MPI_Comm_spawn is not supported by dslaunch'

run -n 2 -- ./checks wrong
[ "$rc" != 0 ] || die 'a wrong call ended well'
says 'rank 1: .*An error occurred in MPI_Send'

run -n 3 -- ./checks early 0
expect 1 'a rank that leaves without MPI_Finalize'
says 'rank 1 on .* exited after MPI_Init without MPI_Finalize'

run -n 3 --mpi pmix -- sh -c '[ "$RANK" != 1 ] || exit 0; exec ./checks all'
expect 1 'a rank that ends before MPI_Init'
says 'MPI ranks wait in a fence for \[1\] on .*, which exited without joining it'

run -H n1:2,n2:2 "${apart[@]}" --mpi pmix --mpi-timeout 3 -- sh -c '[ "$RANK" != 3 ] || exec sleep 100; exec ./checks collectives'
expect 124 'a rank that never comes'
says 'an MPI fence did not complete within 3 s: \[3\] on n2 did not join it'

case='kill -9 of a rank in a fence'
background -n 3 --mpi pmix -- sh -c '[ "$RANK" != 1 ] || exec sleep 100; echo "up $$"; exec ./checks all'
two_up() { [ "$(grep -c 'up ' out)" = 2 ]; }
wait_for two_up
sleep 1 # until they wait in MPI_Init
kill -9 "$(sed -n 's/^\[0\] up //p' out)"
finish
expect 137 "$case"
nothing_left || die "$case: processes are left"

no_segments || die "files are left in /dev/shm: $(ls /dev/shm)"

case='kill -9 of the PMIx server'
background -n 2 --mpi pmix -- sh -c '[ "$RANK" != 1 ] || exec sleep 100; echo up; exec ./checks all'
server_pid() { for each in $(job_processes); do [ "$(cat "/proc/$each/comm")" != dslaunch-pmix ] || echo "$each"; done; }
one_up() { grep -q 'up$' out; }
wait_for one_up
kill -9 "$(server_pid)"
finish
[ "$rc" != 0 ] || die "$case: exit 0"
says 'the PMIx server of the ranks was killed by signal 9'
nothing_left || die "$case: processes are left"

case='a restart begins with an empty space'
cat >restart.sh <<'S'
#!/bin/sh
[ "$DSLAUNCH_EPOCH$RANK" != 01 ] || exit 3
exec ./checks collectives
S
run -n 3 --mpi pmix --max-restarts 1 -- sh restart.sh
expect 0 "$case"
grep -q 'all checks passed, 3 ranks$' out || die "$case"

case='a node without the plugin'
DSLAUNCH_PMIX_PLUGIN=./missing.so run -n 2 -- ./checks all
[ "$rc" != 0 ] || die "$case: exit 0"
says 'the PMIx plugin \(libdslaunch_pmix.so\) cannot be opened'
says 'install dslaunch with its libraries on this node, and libpmix2'

echo 'openmpi: all cases passed'
