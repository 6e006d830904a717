#!/usr/bin/env bash
# Tests what becomes of an MPI job if a rank breaks PMI-1 or PMI-2, dies, aborts, leaves without MPI_Finalize, does not come,
# or fills the key-value space, and if an agent is killed: one verdict names the cause, and no process is left.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
probe=$DS_TESTS/pmi_probe
mpi() { run --mpi pmi1 -x PROBE_PMI "$@"; }
says() { grep -qE -- "$1" err || die "$case: standard error has no line like: $1"; }
done_are() { [ "$(grep -c 'is done$' out)" = "$1" ] || die "$case: not $1 ranks are done"; }

# ends_with CODE PATTERN DEED: rank 1 does it while the others wait in a fence.
ends_with() {
  case="PMI-$PROBE_PMI, one rank: $3"
  local begin=$SECONDS
  mpi -H n1:2,n2:2 --transport local -- "$probe" "$3" 1
  expect "$1" "$case"
  says "$2"
  [ $((SECONDS - begin)) -le 15 ] || die "$case: took $((SECONDS - begin)) s"
  nothing_left || die "$case: processes are left"
}
for PROBE_PMI in 1 2; do
  export PROBE_PMI
  if [ "$PROBE_PMI" = 1 ]; then
    ends_with 1 "rank 1 on n1 sent an invalid PMI request: 'GET / HTTP/1.1\?' \(first failure\)" garbage
    ends_with 1 "rank 1 on n1 sent a PMI request of more than 8192 bytes: 'cmd=put kvsname=k key=kkk" long
    ends_with 1 'rank 1 on n1 started a second MPI program after MPI_Finalize of the first; a rank can run only one' twice
  else
    ends_with 1 "rank 1 on n1 sent an invalid PMI request: '    xx' \(first failure\)" garbage
    ends_with 1 "rank 1 on n1 sent a PMI request of more than 65536 bytes: '999999'" long
    ends_with 1 "rank 1 on n1 waits for the node attribute 'absent', which no rank of its node can put" hopeless
  fi
  ends_with 1 'rank 1 on n1 closed its PMI connection inside a request' half
  ends_with 7 'rank 1 on n1 called MPI_Abort\(7\).* \(first failure\); 3 ranks ended after it' abort
  ends_with 1 'rank 1 on n1 exited after MPI_Init without MPI_Finalize \(first failure\); 3 ranks ended after it' early
  ends_with 1 'rank 1 on n1 closed its PMI connection after MPI_Init without MPI_Finalize \(first failure\)' close
done
export PROBE_PMI=1

case='a rank that exits before MPI_Init'
mpi -H n1:2,n2:2 --transport local -- sh -c '[ "$RANK" != 1 ] || exit 0; exec "$0" fence' "$probe"
expect 1 "$case"
says 'MPI ranks wait in a fence for \[1\] on n1, which exited without joining it'

case='the exit status of a rank says more than its connection'
mpi -n 3 -- sh -c '"$0" early 1; [ "$RANK" != 1 ] || exit 5' "$probe"
expect 5 "$case"
says 'rank 1 on .*: exited 5 \(first failure\)'

case='a background process that speaks for a rank that has exited'
mpi -n 2 -- sh -c '(sleep 0.3; exec "$0" fence) & exit 0' "$probe"
expect 0 "$case"
done_are 2

case='a rank alone may end without MPI_Finalize'
mpi -n 1 -- "$probe" early 0
expect 0 "$case"

case='two million keys of one rank'
if ! sanitized; then
  mpi -n 2 --mpi-timeout 60 -- "$probe" flood
  expect 0 "$case"
  read -r refused memory < <(sed -n 's/.*refused \([0-9]*\), agent \([0-9]*\) MB$/\1 \2/p' out)
  [ "${refused:-0}" -gt 0 ] || die "$case: none was refused"
  [ "${memory:-0}" -gt 0 ] && [ "$memory" -lt 600 ] || die "$case: the agent used $memory MB"
fi

case='a rank that never comes'
mpi -H n1:2,n2:2 --transport local --mpi-timeout 3 -- "$probe" idle 2
expect 124 "$case"
says 'an MPI fence did not complete within 3 s: \[2\] on n2 did not join it; 4 ranks stopped'

case='a rank that sends a million requests and reads no reply'
mpi -n 2 --mpi-timeout 2 -- "$probe" unread 1
expect 124 "$case"

case='kill -9 of a rank in a fence'
background --mpi pmi1 -n 3 -- "$probe" idle 2
three_up() { [ "$(grep -c ' up ' out)" = 3 ]; }
wait_for three_up
kill -9 "$(sed -n 's/^\[0\] up //p' out)"
finish
expect 137 "$case"
says 'rank 0 on .*: killed by SIGKILL \(first failure\); 2 ranks ended after it'
nothing_left || die "$case: processes are left"

# parent PID: of a process.
parent() { sed -n 's/^PPid:[[:space:]]*//p' "/proc/$1/status"; }
case='kill -9 of an agent while ranks wait in a fence'
background --mpi pmi1 -H n1:2,n2:2 --transport local -- "$probe" idle 1
four_up() { [ "$(grep -c ' up ' out)" = 4 ]; }
wait_for four_up
kill -9 "$(parent "$(parent "$(sed -n 's/^\[3\] up //p' out)")")"
finish
expect 69 "$case"
says 'node n2 is lost: the agent was lost'
nothing_left || die "$case: processes are left"

echo 'faults: all cases passed'
