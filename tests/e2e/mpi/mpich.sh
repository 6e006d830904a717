#!/usr/bin/env bash
# Tests programs of MPICH on this machine: collectives, windows and shared memory against known sums, MPI_Abort, spawn.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
mpicc=$(command -v mpicc.mpich) || { echo "SKIP: mpicc.mpich is not installed (apt-get install libmpich-dev)"; exit 77; }
"$mpicc" -O1 -o checks "$DS_SOURCE/tests/e2e/mpi/mpi_checks.c" >log 2>&1 || die "mpicc: $(cat log)"
says() { grep -qE -- "$1" err || die "standard error has no line like: $1"; }

run -n 4 -- ./checks all
expect 0 'four ranks'
grep -q 'all checks passed, 4 ranks$' out || die 'four ranks: not one world of four'

run -H n1:2,n2:2 --transport local -- ./checks all
expect 0 'two agents of two ranks'
grep -q 'all checks passed, 4 ranks$' out || die 'two agents: not one world of four'

run -H n1:2,n2:2 --transport local --map-by node -- ./checks all
expect 0 'ranks that go round'
grep -q 'all checks passed, 4 ranks$' out || die 'ranks that go round: not one world of four'

run -n 1 -- ./checks all
expect 0 'one rank'
grep -q 'all checks passed, 1 ranks$' out || die 'one rank'

run -n 2 --mpi none -- ./checks all
grep -q 'wrong: size of the world' out || die '--mpi none: not two worlds of one'

run -n 3 --mpi pmi1 -- sh -c 'exec ./checks all'
expect 0 'a program behind a shell'
grep -q 'all checks passed, 3 ranks$' out || die 'a program behind a shell'

for wrapper in 'env DS_X=1' 'nice -n 1' 'timeout 60' 'nohup'; do
  run -n 2 -- $wrapper ./checks all
  expect 0 "behind $wrapper"
  grep -q 'all checks passed, 2 ranks$' out || die "behind $wrapper: not one world of two"
done
run -n 2 -- sh -c 'DS_X=1 ./checks all'
expect 0 'behind a shell that only starts it'
grep -q 'all checks passed, 2 ranks$' out || die 'behind a shell that only starts it'

run -n 1 -- ./checks all : -n 2 -- ./checks all
expect 0 'two programs in one world'
grep -q 'all checks passed, 3 ranks$' out || die 'two programs in one world'

run -n 1 -- ./checks all : -n 2 -- true
expect 65 'one program without MPI'
says './checks is linked with libmpich.so.12, but true with no MPI library'

run -n 3 -- ./checks abort 6
expect 6 'MPI_Abort'
says 'rank 1 on .* called MPI_Abort\(6\)'
nothing_left || die 'MPI_Abort: processes are left'

run -n 3 -- ./checks early 0
expect 1 'no MPI_Finalize'
says 'rank 1 on .* exited after MPI_Init without MPI_Finalize \(first failure\); 2 ranks ended after it'
nothing_left || die 'no MPI_Finalize: processes are left'
run -n 3 -- ./checks early 7
expect 7 'no MPI_Finalize, and exit code 7'

# MPICH shuts the connection down in MPI_Finalize, so the second program dies of SIGPIPE, as under mpiexec.
run -n 2 --mpi pmi1 -- sh -c './checks all && ./checks all'
expect 141 'two MPI programs in one rank'
says 'rank [01]: ended by SIGPIPE after MPI_Finalize; a second MPI program of one rank has no connection'

for deed in names; do
  run --timeout 60 -H n1:2,n2:1 --transport local -- ./checks $deed
  expect 0 "published names: $deed"
  grep -q 'all checks passed, 3 ranks$' out || die "published names: $deed"
done

run -n 2 -- ./checks spawn
[ "$rc" != 0 ] || die 'MPI_Comm_spawn ended well'

run as mpirun -np 3 ./checks all
expect 0 'as mpirun'
grep -q 'all checks passed, 3 ranks$' out || die 'as mpirun'

# Each program of a world has its own number, folder and variables, as under the launchers of Open MPI and MPICH.
here=$PWD
told() { grep '^rank' out | sort | tr '\n' ';'; }
two_programs="rank 0 of 3: program 0 in /usr, A=1;rank 1 of 3: program 1 in $here, A=2;rank 2 of 3: program 1 in $here, A=2;"
run as mpirun -np 1 -wdir /usr -x A=1 "$here/checks" tell : -np 2 -x A=2 --bind-to none ./checks tell
expect 0 'two programs as mpirun'
[ "$(told)" = "$two_programs" ] || die "two programs as mpirun: $(told)"
grep -q 'all checks passed, 3 ranks$' out || die 'two programs as mpirun: not one world'
run as mpiexec.hydra -n 1 -wdir /usr -env A 1 "$here/checks" tell : -n 2 -genv A 2 ./checks tell
expect 0 'two programs as mpiexec.hydra'
[ "$(told)" = "$two_programs" ] || die "two programs as mpiexec.hydra: $(told)"
run as mpiexec.hydra -n 2 -bind-to core -map-by socket -l -prepend-rank ./checks all
expect 0 'ranks that are bound'
grep -q '^\[0\] all checks passed, 2 ranks$' out || die 'ranks that are bound'
# Programs on hosts of their own.
cat >agent.sh <<'S'
#!/bin/sh
HOST_NAME=$1; export HOST_NAME; shift
exec sh -c "$*"
S
chmod +x agent.sh
run as mpirun --mca plm_rsh_agent ./agent.sh -np 1 -host n1 -x A=1 ./checks tell : -np 2 -host n2:2 -x A=2 ./checks tell
expect 0 'two programs on hosts of their own'
[ "$(told)" = "rank 0 of 3: program 0 in $here, A=1;rank 1 of 3: program 1 in $here, A=2;rank 2 of 3: program 1 in $here, A=2;" ] ||
  die "two programs on hosts of their own: $(told)"
grep -q 'all checks passed, 3 ranks$' out || die 'two programs on hosts of their own: not one world'
# dslaunch cannot see the library of a script.
run as mpirun -np 3 sh -c 'true; exec ./checks all'
expect 0 'as mpirun, a script'
grep -q 'all checks passed, 3 ranks$' out || die 'as mpirun, a script'
DSLAUNCH_PMIX_PLUGIN=./missing.so run as mpirun -np 3 sh -c 'true; exec ./checks all'
expect 0 'as mpirun, a node without the PMIx plugin'
grep -q 'all checks passed, 3 ranks$' out || die 'as mpirun, a node without the PMIx plugin'
echo 'mpich: all cases passed'
