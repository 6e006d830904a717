#!/usr/bin/env bash
# Tests PMI-1 and PMI-2 without an MPI library: fences and pairs, refused services, a restart, and programs that get no PMI.
# A rank is pmi_probe. Faults are in faults.sh.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
probe=$DS_TESTS/pmi_probe
mpi() { run --mpi pmi1 "$@"; }
says() { grep -qE -- "$1" err || die "$case: standard error has no line like: $1"; }
done_are() { [ "$(grep -c 'is done$' out)" = "$1" ] || die "$case: not $1 ranks are done"; }

# The rank asks for the version; both are served on the same descriptor, whatever --mpi says.
for version in 1 2; do
  export PROBE_PMI=$version
  mpi() { run --mpi "pmi$((3 - version))" -x PROBE_PMI "$@"; }

  case="PMI-$version: pairs and three fences"
  mpi -n 4 -- "$probe" fence 3
  expect 0 "$case"
  done_are 4

  case="PMI-$version: the same between agents of their own"
  mpi -H n1:3,n2:2,n3:1 --transport local -- "$probe" fence 3
  expect 0 "$case"
  done_are 6

  case="PMI-$version: ranks that go round the nodes"
  mpi -H n1:2,n2:2 --transport local --map-by node -- "$probe" fence
  expect 0 "$case"
  done_are 4

  case="PMI-$version: the longest key and value, and longer ones"
  mpi -n 2 -- "$probe" longest
  expect 0 "$case"
  done_are 2

  case="PMI-$version: a request to spawn is refused by name"
  mpi -n 2 -- "$probe" spawn
  expect 0 "$case"
  done_are 2
  says 'rank 1: MPI_Comm_spawn is not supported by dslaunch'
done

case='PMI-2: attributes of a node'
mpi -H n1:3,n2:2 --transport local -- "$probe" attributes
expect 0 "$case"
done_are 5
export PROBE_PMI=1
mpi() { run --mpi pmi1 "$@"; }

case='two hundred thousand pairs'
mpi -H n1:2,n2:2 --transport local -- "$probe" many 200000
expect 0 "$case"
done_are 4

case='a rank without PMI has no descriptor and no variables'
run -n 2 -- sh -c 'test -z "$PMI_FD$PMI_RANK$PMI_SIZE" && ! test -e /proc/self/fd/3'
expect 0 "$case"

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

case='a program of a library that is not known'
if command -v cc >/dev/null; then
  echo 'int nothing;' >lib.c
  echo 'int main(void) { return 0; }' >main.c
  cc -shared -Wl,-soname,libmpi_gnu_91.so.12 -o libmpi_gnu_91.so.12 lib.c && cc -Wl,--no-as-needed -o of_cray main.c ./libmpi_gnu_91.so.12 || die "$case: cc"
  run -n 2 -- ./of_cray
  expect 65 "$case"
  says './of_cray is linked with libmpi_gnu_91.so.12, which dslaunch does not know'
fi

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
case='a program whose own library needs MPI'
if command -v cc >/dev/null; then
  echo 'int nothing;' >lib.c
  echo '#include <stdio.h>
#include <stdlib.h>
int main(void) { const char* size = getenv("PMI_SIZE"); return printf("size %s\n", size ? size : "none") < 0; }' >main.c
  mkdir -p own
  cc -shared -Wl,-soname,libmpich.so.12 -o own/libmpich.so.12 lib.c && cc -shared -Wl,--no-as-needed -o own/libsolver.so lib.c own/libmpich.so.12 &&
    cc -Wl,--no-as-needed,-rpath,'$ORIGIN/own' -o solves main.c -Lown -lsolver -Wl,-rpath-link,own || die "$case: cc"
  run -n 2 -- env LD_LIBRARY_PATH=own ./solves
  expect 0 "$case"
  [ "$(grep -c 'size 2$' out)" = 2 ] || die "$case: $(cat out)"
fi

case='a script that imports mpi4py, and one that does not'
printf 'import os\ntry:\n  from mpi4py import MPI\nexcept ImportError:\n  pass\nprint("size", os.environ.get("PMI_SIZE"))\n' >mpi.py
sed 's/from mpi4py import MPI/pass/' mpi.py >plain.py
run -n 2 -- env -u X python3 mpi.py
expect 0 "$case"
[ "$(grep -c 'size 2$' out)" = 2 ] || die "$case: $(cat out)"
run -n 2 -- python3 plain.py
expect 0 "$case"
[ "$(grep -c 'size None$' out)" = 2 ] || die "$case: $(cat out)"
echo 'pmi: all cases passed'
