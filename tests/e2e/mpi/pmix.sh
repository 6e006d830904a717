#!/usr/bin/env bash
# Tests the PMIx server with a client of libpmix alone, on two agents: connections, events, groups, direct modex of a rank that lives,
# has published and left, or left without, published names, a refused call, and what a rank is bound to.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
[ -e "$DS_BIN/libdslaunch_pmix.so" ] || { echo "SKIP: the PMIx plugin was not built (apt-get install libpmix-dev)"; exit 77; }
flags=$(pkg-config --cflags --libs pmix) || { echo "SKIP: pkg-config does not find pmix"; exit 77; }
read -ra flags <<<"$flags"
cc -O1 -o client "$DS_SOURCE/tests/e2e/mpi/pmix_client.c" "${flags[@]}" >log 2>&1 || die "cc: $(cat log)"
# pmix ARGS...: four ranks on two agents. A call that never returns ends as exit code 124.
pmix() { run --mpi pmix --timeout 30 -H n1:2,n2:2 --transport local --prefix '' -- ./client "$@"; }
# lines COUNT LINE: standard output has so many such lines.
lines() { [ "$(grep -cxE -- "$2" out)" = "$1" ] || die "$case: not $1 lines like: $2"; }
says() { grep -qE -- "$1" err || die "$case: standard error has no line like: $1"; }

case='connect and disconnect'
pmix connect
expect 0 "$case"
lines 4 'rank [0-3] connect: done'
lines 4 'rank [0-3] disconnect: done'

case='an event reaches the ranks of both agents'
pmix event
expect 0 "$case"
lines 1 'rank 0 notify: done'
lines 3 'rank [123] event: -[0-9]+ from 0: hello'
lines 8 'rank [0-3] fence: done'

case='groups of all ranks, and of two on different agents'
pmix group
expect 0 "$case"
lines 4 'rank [0-3] everyone: context [0-9]+'
lines 2 'rank [03] ends: context [0-9]+'
lines 4 'rank [0-3] destruct everyone: done'
lines 2 'rank [03] destruct ends: done'
contexts() { sed -n "s/^rank [0-3] $1: context //p" out | sort -u; }
[ "$(contexts everyone | wc -l)" = 1 ] && [ "$(contexts ends | wc -l)" = 1 ] || die "$case: members have different contexts"
[ "$(contexts everyone)" != "$(contexts ends)" ] || die "$case: two groups have one context"

for ms in 0 1500; do
  case="direct modex without a fence, after $ms ms"
  pmix modex $ms $((2 * ms + 1500))
  expect 0 "$case"
  lines 1 'rank 3 key: word of 0'

  case="direct modex of a rank that publishes nothing and exits, after $ms ms"
  pmix absent $ms
  expect 0 "$case"
  lines 1 'rank 3 key: (PMIX_ERR_)?NOT-FOUND'
  # For a rank of its own node the library waits 2 s, without asking its host.
  lines 1 'rank 1 key: (PMIX_ERR_)?(NOT-FOUND|TIMEOUT)'
done

case='direct modex with a limit'
pmix slow
expect 0 "$case"
lines 1 'rank 3 key: (PMIX_ERR_)?TIMEOUT'

case='direct modex of a rank whose node has no ranks any more'
pmix modex 1500
expect 0 "$case"
lines 1 'rank 3 key: (PMIX_ERR_)?NOT-FOUND'

case='direct modex of a rank that never calls PMIx_Init'
run --mpi pmix --timeout 30 -H n1:2,n2:2 --transport local --prefix '' -- sh -c '[ "$RANK" != 0 ] || exit 0; exec ./client absent 0'
expect 1 "$case"
says 'MPI ranks wait in a fence for \[0\] on n1, which exited without joining it'

case='published names'
pmix names
expect 0 "$case"
lines 1 'rank 0 publish: done'
lines 1 'rank 3 waited: port of 0'
lines 1 'rank 0 twice: (PMIX_ERR_)?DUPLICATE[- ]KEY'
lines 4 'rank [0-3] lookup: port of 0'
lines 1 'rank 3 first: first of 0'
lines 1 'rank 3 second: (PMIX_ERR_)?NOT-FOUND'
lines 1 'rank 3 missing: (PMIX_ERR_)?TIMEOUT'
lines 1 'rank 0 unpublish: done'
lines 1 'rank 3 withdrawn: (PMIX_ERR_)?NOT-FOUND'

case='spawn'
pmix spawn
expect 0 "$case"
lines 4 'rank [0-3] spawn: (PMIX_ERR_)?NOT-SUPPORTED'
says 'rank [0-3]: MPI_Comm_spawn is not supported by dslaunch'

case='a rank of PMI and a rank of PMIx in one job'
run --mpi any --timeout 30 -H n1:1,n2:1 --transport local --prefix '' -- \
  sh -c '[ "$RANK" = 0 ] || exec ./client connect; exec "$0" fence' "$DS_TESTS/pmi_probe"
expect 1 "$case"
says 'rank [01] on n[12] uses PMIx? .*, but rank [01] on n[12] uses PMIx? .*: all ranks of a job need the same MPI library'
nothing_left || die "$case: processes are left"

case='the PMIx library that the user has chosen'
DSLAUNCH_PMIX_LIBRARY=$(pkg-config --variable=libdir pmix)/libpmix.so pmix connect
expect 0 "$case"
lines 4 'rank [0-3] disconnect: done'
DSLAUNCH_PMIX_LIBRARY=./missing.so pmix connect
expect 69 "$case: a file that is missing"
says 'the PMIx library of DSLAUNCH_PMIX_LIBRARY cannot be opened: ./missing.so: '

case='ranks that are not bound'
pmix binding
expect 0 "$case"
lines 4 'rank [0-3] cpuset: (PMIX_ERR_)?NOT-FOUND'

case='bound ranks'
run --mpi pmix -n 2 --bind hwthread --map-by hwthread --prefix '' -- ./client binding
if grep -q 'processors' err && [ "$rc" = 69 ]; then
  echo 'SKIP: this machine has fewer than 2 processors'
else
  expect 0 "$case"
  for rank in 0 1; do
    kernel=$(sed -n "s/^rank $rank kernel: //p" out)
    [ -n "$kernel" ] || die "$case: the rank $rank did not print its processors"
    lines 1 "rank $rank cpuset: $kernel"
    lines 1 "rank $rank locality: .*HT[0-9].*"
  done
  lines 1 "rank 1 locality of 0: $(sed -n 's/^rank 0 locality: //p' out)"
fi

echo 'pmix: all cases passed'
