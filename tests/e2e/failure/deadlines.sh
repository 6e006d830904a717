#!/usr/bin/env bash
# --timeout, --pre-signal, --forward-signals and --exit-skew.
set -u
. "$DS_SOURCE/tests/support/launch.sh"

run -n 3 --timeout 2s -- bash -c '[ $RANK = 1 ] || exec sleep 60'
expect 124 "timeout"
last_line_is "dslaunch: the deadline of 2 s has passed: 2 ranks were still running: [0,2] on localhost; 2 ranks stopped"
nothing_left || die "left: $(job_processes)"
run -n 2 --timeout 60s -- true
expect 0 "a timeout that does not come"

# The signal comes before TERM, to main processes alone.
run -n 2 --timeout 3s --pre-signal USR1@1s -- bash -c '
  bash -c "trap \"echo helper got USR1\" USR1; trap exit TERM; while :; do sleep 0.05; done" &
  trap "echo rank got USR1" USR1; trap "echo rank got TERM; exit 0" TERM; while :; do sleep 0.05; done'
expect 124 "pre-signal"
[ "$(grep -v TERM out | sort)" = "[0] rank got USR1
[1] rank got USR1" ] || die "USR1 went elsewhere"
[ "$(grep -c 'rank got TERM' out)" = 2 ] || die "TERM after USR1"
[ "$(grep -n 'USR1' out | tail -n 1 | cut -d: -f1)" -lt "$(grep -n TERM out | head -n 1 | cut -d: -f1)" ] || die "order of signals"
grep -q '^dslaunch: 1 s until the deadline: sending SIGUSR1 to all ranks$' err || die "the pre-signal is not told"

# Signals of the launcher go on to the ranks.
forwarding() { # NAME: starts a job that tells of NAME
  rm -f up.*
  background "${@:2}" -n 2 -- bash -c 'trap "echo got '"$1"'; exit 0" '"$1"'; : >up.$RANK; while :; do sleep 0.05; done'
  wait_for files_there up.0 up.1
  kill "-$1" "$launcher"
}
forwarding USR1
finish
expect 0 "USR1"
[ "$(sort out)" = "[0] got USR1
[1] got USR1" ] || die "USR1 is passed on"
forwarding HUP --forward-signals HUP,WINCH
finish
expect 0 "HUP in the list"
[ "$(grep -c 'got HUP' out)" = 2 ] || die "HUP is passed on"
forwarding USR2 --forward-signals none
finish
expect 140 "USR2 kills a launcher that passes nothing on"
wait_for nothing_left

# Ranks that go on when others are done.
background -n 3 --exit-skew 200ms -- bash -c '[ $RANK = 1 ] || while [ ! -e warned ]; do sleep 0.02; done'
wait_for test -s err
touch warned
finish
expect 0 "exit skew"
[ "$(cat err)" = "dslaunch: 2 of 3 ranks were still running 200 ms after another ended with 0: [0,2] on localhost" ] || die "warning"
run -n 2 --exit-skew 200ms:stop -- bash -c '[ $RANK = 1 ] || exec sleep 60'
expect 124 "exit skew with stop"
last_line_is "dslaunch: 1 of 2 ranks was still running 200 ms after another ended with 0: [0] on localhost; 1 rank stopped"
echo "deadlines: timeout, signal before it, forwarded signals, exit skew"
