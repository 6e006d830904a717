#!/usr/bin/env bash
# Ways for a rank to fail: the exit code of the job, and the verdict that names rank, node and cause.
set -u
dslaunch="$DS_BIN/dslaunch"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0
failures=0

fail() {
  failures=$((failures + 1))
  printf 'FAILED: %s\n' "$1"
  cat err
}

# expect CODE VERDICT ARGS...: runs dslaunch with ARGS; VERDICT is the last line of its standard error.
expect() {
  local code=$1 verdict=$2 seen
  shift 2
  timeout 60 "$dslaunch" "$@" >out 2>err </dev/null
  seen=$?
  checks=$((checks + 1))
  [ "$seen" = "$code" ] || fail "dslaunch $*: exit $seen instead of $code"
  [ "$(tail -n 1 err)" = "$verdict" ] || fail "dslaunch $*: expected the verdict '$verdict'"
}

# How a rank ends.
expect 0 '' -n 4 -- true
expect 7 'dslaunch: rank 0 on localhost: exited 7' -- sh -c 'exit 7'
expect 7 'dslaunch: rank 2 on localhost: exited 7 (first failure); 3 ranks ended after it' \
  -n 4 -- sh -c '[ $RANK = 2 ] && exit 7; exec sleep 60'
expect 139 'dslaunch: rank 0 on localhost: killed by SIGSEGV' -- sh -c 'ulimit -c 0; kill -SEGV $$'
expect 137 'dslaunch: rank 1 on localhost: killed by SIGKILL (first failure); 1 rank ended after it' \
  -n 2 -- sh -c '[ $RANK = 1 ] && kill -KILL $$; exec sleep 60'
# Nothing but the rank that failed first counts: the others answer TERM with codes of their own.
expect 9 'dslaunch: rank 1 on localhost: exited 9 (first failure); 7 ranks ended after it' \
  -n 8 -- sh -c 'trap "exit 3" TERM; touch up.$RANK
    if [ $RANK = 1 ]; then while [ $(ls up.* | wc -l) -lt 8 ]; do sleep 0.01; done; exit 9; fi
    while :; do sleep 0.05; done'
rm -f up.*
# A rank that is done early is no failure.
expect 0 '' -n 2 -- sh -c '[ $RANK = 1 ] || sleep 0.3'

# How a rank does not begin.
expect 127 'dslaunch: rank 0 on localhost: cannot run no-such-program: not found in PATH' -- no-such-program
expect 127 'dslaunch: rank 0 on localhost: cannot run ./missing: not found' -- ./missing
printf '#!/bin/sh\r\necho hi\r\n' >dos
chmod +x dos
expect 127 'dslaunch: rank 0 on localhost: cannot run ./dos: the interpreter in its first line, or its ELF loader, does not exist; the script may have Windows line endings' -- ./dos
echo text >plain
expect 126 'dslaunch: rank 0 on localhost: cannot run ./plain: Permission denied' -- ./plain
expect 65 'dslaunch: rank 0 on localhost: cannot enter the working directory '\''/no/such/folder'\'': No such file or directory; create it on that node or choose another with --wdir' \
  --wdir /no/such/folder -- true

# A rank that ignores TERM is killed after the grace, with all that it started.
expect 5 'dslaunch: rank 0 on localhost: exited 5 (first failure); 1 rank ended after it, by KILL' \
  --grace 300ms -n 2 -- sh -c 'trap "" TERM; sleep 83.'"$$"' & : >ready.$RANK
    if [ $RANK = 0 ]; then while [ ! -e ready.1 ]; do sleep 0.01; done; exit 5; fi
    while :; do sleep 1; done'
checks=$((checks + 1))
pgrep -f "sleep 83\.$$\$" >left && fail "left behind: $(cat left)"
# What a rank leaves behind when it ends well goes too, even in a session of its own.
expect 0 '' -- sh -c 'setsid sleep 84.'"$$"' & true'
checks=$((checks + 1))
pgrep -f "sleep 84\.$$\$" >left && fail "left behind: $(cat left)"

if [ "$failures" != 0 ]; then
  echo "failures of ranks: $failures of $checks checks failed"
  exit 1
fi
echo "failures of ranks: $checks checks passed"
