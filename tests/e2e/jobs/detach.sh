#!/usr/bin/env bash
# Tests detached jobs: id, log, ps, tail, attach with its exit code, and a job that cannot start.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/jobs.sh"

# It runs, is listed, and says its last lines, of all ranks and of one.
detached -n 2 -- bash -c 'for i in 1 2 3; do echo "line $i"; done; touch said.$RANK
  while [ ! -e go ]; do sleep 0.02; [ ! -e more.$RANK ] || { rm more.$RANK; echo more; }; done; echo last; exit 7'
grep -q "job ${id:0:8} runs in the background; its output goes to $work/dslaunch-$id.log" err || die "no word of the log"
wait_for files_there said.0 said.1
is_running() { [ "$(column state "$id")" = running ]; }
wait_for is_running
run ps
expect 0 "ps"
[ "$(wc -l <out)" = 2 ] || die "ps does not list one job"
tail -n 1 out | grep -Eq "^${id:0:8} +[0-9]+s +running +2 +1 +bash -c " || die "ps: $(cat out)"
[ "$(column ranks "$id") $(column nodes "$id") $(column state "$id")" = "2 1 running" ] || die "ps --json"
[ "$(column log "$id")" = "$work/dslaunch-$id.log" ] || die "ps --json has no log"
six_lines() { [ "$("$dslaunch" tail "${id:0:5}" -n 100 | wc -l)" = 6 ]; }
wait_for six_lines
run tail "$id" -n 1 --rank 1
[ "$(cat out)" = "[1] line 3" ] || die "the last line of rank 1"
run tail -n 2 --rank 0
[ "$(cat out)" = "[0] line 2
[0] line 3" ] || die "tail without an id"
run tail "$id" --rank 2
expect 64 "tail of a rank that is not there"

# Followed to its end: the exit code is the job's.
"$dslaunch" attach "$id" -n 1 >attached 2>attached.err &
attached=$!
"$dslaunch" tail -f -n 0 "$id" >followed 2>/dev/null &
followed=$!
wait_for grep -q "line 3" attached
sees_more() { touch more.0; [ -s followed ]; } # it shows only what comes after it has connected
wait_for sees_more
touch go
wait "$attached"
[ $? = 7 ] || die "attach does not exit with the job's code"
wait "$followed" || die "tail -f fails"
grep -q '^\[[01]\] last$' attached || die "attach has not shown the last line"
grep -q '^dslaunch: rank [01] ' attached.err || die "attach has not shown the verdict"
grep -q 'last' followed || die "tail -f has not shown the last line"
wait_for is_over "$id"
grep -q '^\[0\] line 1$' "dslaunch-$id.log" || die "the log lacks output"
tail -n 1 "dslaunch-$id.log" | grep -q '^dslaunch: rank' || die "the log lacks the verdict"
run attach "${id:0:8}"
expect 7 "attach to a job that is over"
grep -q "job ${id:0:8} ended with exit code 7" err || die "attach does not say that the job has ended"
run attach 0123456789abcdef
expect 64 "attach to a job that never was"
rm -f go said.* more.*

# The log may have another name, and is added to.
for word in one two; do
  run --detach=all.log -n 1 -- echo "$word"
  expect 0 "detached with a log of its own"
  wait_for is_over "$(cat out)"
done
[ "$(cat all.log)" = "one
two" ] || die "--detach=FILE"
run --detach=none/x.log -n 1 -- true
expect 65 "a log that cannot be written"

# A job that cannot start: its exit code and the reason come as without --detach.
run --detach -n 2 -- ./nothing-here
expect 127 "detached job that is not found"
grep -q "nothing-here" err || die "the reason is not shown"
[ ! -s out ] || die "a job that has not started has an id"
printf 'no-such-host.invalid slots=1\n' >hosts
run --detach --hostfile hosts -- true
expect 69 "detached job with a bad host"
grep -q "no-such-host.invalid" err || die "the bad host is not named"

# Whoever starts it is free at once, though the job holds on.
detached -n 1 -- sleep 1000
"$dslaunch" kill "$id" --wait 2>/dev/null || die "kill --wait"
cat "dslaunch-$id.log" >out
grep -q "got SIGTERM; 1 rank stopped" out || die "kill --wait was back before the log was written"
run ps
[ "$(wc -l <out)" = 1 ] || die "a killed job is listed"
nothing_left || die "left: $(job_processes)"
echo "jobs in the background: listed, followed, ended"
