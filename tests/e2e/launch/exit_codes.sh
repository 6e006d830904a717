#!/usr/bin/env bash
# Tests exit codes: that of the first failed rank, and the last line that names the cause.
set -u
. "$DS_SOURCE/tests/support/launch.sh"

run -n 3 -- true
expect 0 "success"
[ ! -s out ] && [ ! -s err ] || die "success is silent"

run -n 4 --grace 30s -- bash -c 'if [ $RANK = 2 ]; then exit 7; fi; exec sleep 60'
expect 7 "exit 7"
last_line_is "dslaunch: rank 2 on localhost: exited 7 (first failure); 3 ranks ended after it"

run -n 1 -- bash -c 'exit 200'
expect 200 "exit 200, one rank"
last_line_is "dslaunch: rank 0 on localhost: exited 200"

run -n 2 -- bash -c 'ulimit -c 0; if [ $RANK = 1 ]; then kill -SEGV $$; fi; exec sleep 60'
expect 139 "SIGSEGV"
grep -q '^dslaunch: rank 1 on localhost: killed by SIGSEGV.*(first failure); 1 rank ended after it$' err ||
  die "SIGSEGV is not named"

# Those that die later with other codes do not change it.
run -n 3 -- bash -c 'if [ $RANK = 0 ]; then exit 5; fi; trap "exit 9" TERM; sleep 60 & wait'
expect 5 "the first failure decides"

run -n 64 -- bash -c 'if [ $RANK = 33 ]; then exit 3; fi; exec sleep 60'
expect 3 "one of 64"
last_line_is "dslaunch: rank 33 on localhost: exited 3 (first failure); 63 ranks ended after it"

run -n 2 -- no-such-command-anywhere
expect 127 "missing command"
grep -q "no-such-command-anywhere.*not found" err || die "missing command is not named"
run -n 1 -- ./no/such/file
expect 127 "missing file"
grep -q "./no/such/file.*not found" err || die "missing file is not named"

touch plain
run -n 1 -- ./plain
expect 126 "not executable"
grep -q "./plain.*Permission denied" err || die "not executable is not named"
run -n 1 -- /
expect 126 "a folder"

# A folder that somebody has removed meanwhile.
mkdir removed
rc=0
(cd removed && rmdir "$work/removed" && exec "$dslaunch" -- true) >out 2>err </dev/null || rc=$?
expect 65 "the current folder is gone"
grep -q '^dslaunch: cannot use .*: No such file or directory$' err || die "a current folder that is gone is not told"

nothing_left || die "left: $(job_processes)"
echo "exit codes: the first failure decides and is named"
