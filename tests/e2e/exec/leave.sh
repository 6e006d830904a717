#!/usr/bin/env bash
# Tests background processes of a command that exits: killed and counted in one line, alive with --leave.
set -u
. "$DS_SOURCE/tests/e2e/exec/loopback.sh"
daemon="export DS_TEST_COOKIE=$DS_TEST_COOKIE; setsid sleep 600 >/dev/null 2>&1 </dev/null &"

exec_on '127.0.2.[1-3]' -- "$daemon if [ %n != 1 ]; then setsid sleep 600 >/dev/null 2>&1 & fi; echo started"
expect 0 "an init script"
err_is "dslaunch: 5 background processes killed on 127.0.2.[1-3]; --leave lets them live" "what is killed is said"
wait_for nothing_left

exec_on 127.0.2.1 -- 'sleep 0.2 & echo ends by itself'
err_is "" "what ends by itself is not killed"

exec_on '127.0.2.[1-3]' --leave -- "$daemon echo started"
expect 0 "--leave"
err_is "" "--leave"
[ "$(grep -c started out)" = 3 ] || die "--leave: output"
sleep 1.5
three_live() { left=$(job_processes) && [ "$(wc -w <<<"$left")" = 3 ]; } # agents may take a moment to end
wait_for three_live
for pid in $left; do
  [ "$(ps -o comm= -p "$pid")" = sleep ] || die "--leave: more than the daemon lives: $(ps -o comm= -p "$pid")"
done
# The next agent on these nodes does not take them for leftovers.
exec_on '127.0.2.[1-3]' -- true
[ "$(job_processes)" = "$left" ] || die "--leave: a later agent killed them"
# shellcheck disable=SC2086
kill $left
wait_for nothing_left

# A command that is stopped leaves nothing, also with --leave.
exec_on 127.0.2.1 --leave -u 1 -- "$daemon sleep 600"
expect 0 "--leave and -u"
wait_for nothing_left
echo "ok"
