#!/usr/bin/env bash
# Tests PMI-1 without an MPI library: fences and pairs, ranks that break the protocol, die, abort, or do not come, and a
# restart. A rank is pmi_probe.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
probe=$DS_TESTS/pmi_probe
mpi() { run --mpi pmi1 "$@"; }
says() { grep -qE -- "$1" err || die "$case: standard error has no line like: $1"; }
done_are() { [ "$(grep -c 'is done$' out)" = "$1" ] || die "$case: not $1 ranks are done"; }

case='pairs and three fences'
mpi -n 4 -- "$probe" fence 3
expect 0 "$case"
done_are 4

case='the same between agents of their own'
mpi -H n1:3,n2:2,n3:1 --transport local -- "$probe" fence 3
expect 0 "$case"
done_are 6

case='ranks that go round the nodes'
mpi -H n1:2,n2:2 --transport local --map-by node -- "$probe" fence
expect 0 "$case"
done_are 4

case='two hundred thousand pairs'
mpi -H n1:2,n2:2 --transport local -- "$probe" many 200000
expect 0 "$case"
done_are 4

case='the longest key and value, and longer ones'
mpi -n 2 -- "$probe" longest
expect 0 "$case"
done_are 2

case='a request to spawn is refused by name'
mpi -n 2 -- "$probe" spawn
expect 0 "$case"
done_are 2
says 'rank 1: MPI_Comm_spawn is not supported by dslaunch'

case='a rank without PMI has no descriptor and no variables'
run -n 2 -- sh -c 'test -z "$PMI_FD$PMI_RANK$PMI_SIZE" && ! test -e /proc/self/fd/3'
expect 0 "$case"

# ends_with CODE PATTERN DEED: rank 1 does it while the others wait in a fence.
ends_with() {
  case="one rank: $3"
  local begin=$SECONDS
  mpi -H n1:2,n2:2 --transport local -- "$probe" "$3" 1
  expect "$1" "$case"
  says "$2"
  [ $((SECONDS - begin)) -le 15 ] || die "$case: took $((SECONDS - begin)) s"
  nothing_left || die "$case: processes are left"
}
ends_with 1 "rank 1 on n1 sent an invalid PMI request: 'GET / HTTP/1.1\?' \(first failure\)" garbage
ends_with 1 'rank 1 on n1 closed its PMI connection inside a request' half
ends_with 1 "rank 1 on n1 sent a PMI request of more than 8192 bytes: 'cmd=put kvsname=k key=kkk" long
ends_with 7 'rank 1 on n1 called MPI_Abort\(7\) \(first failure\); 3 ranks ended after it' abort
ends_with 1 'MPI ranks wait in a fence for \[1\] on n1, which exited without joining it' early

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

case='a restart begins with an empty space'
cat >restart.sh <<'S'
#!/bin/sh
[ "$DSLAUNCH_EPOCH$RANK" != 01 ] || exit 3
exec "$1" fence 2
S
mpi -H n1:2,n2:2 --transport local --max-restarts 1 -- sh restart.sh "$probe"
expect 0 "$case"
done_are 4
says 'rank 1 on n1: exited 3; restart 1 of 1'

case='the result as JSON'
mpi -n 2 --verdict verdict -- "$probe" abort 1
expect 7 "$case"
grep -q '"kind": "mpi"' verdict && grep -q '"exit_code": 7' verdict || die "$case: $(cat verdict)"

case='several launchers'
run --part 0/2 -n 1 --mpi pmi1 --master-addr 127.0.0.1 --master-port 29999 -- "$probe" fence
expect 65 "$case"
says 'ranks of an MPI job cannot be started by several launchers'

case='a program of Open MPI'
if command -v cc >/dev/null; then
  echo 'int nothing;' >lib.c
  echo 'int main(void) { return 0; }' >main.c
  if cc -shared -Wl,-soname,libmpi.so.40 -o libmpi.so.40 lib.c && cc -Wl,--no-as-needed -o of_openmpi main.c ./libmpi.so.40; then
    run -n 2 --mpi pmi1 -- ./of_openmpi
    expect 65 "$case"
    says './of_openmpi is linked with libmpi.so.40, which needs PMIx'
    run -n 2 --mpi none -- env LD_LIBRARY_PATH=. ./of_openmpi
    expect 0 "$case with --mpi none"
  fi
fi
echo 'pmi: all cases passed'
