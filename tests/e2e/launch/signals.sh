#!/usr/bin/env bash
# Tests signals: one Ctrl-C stops the job with a grace, two kill it; TERM and HUP stop it; Ctrl-Z suspends it.
set -u
. "$DS_SOURCE/tests/support/launch.sh"

# stops_with SIGNAL CODE: ranks get TERM and can save.
stops_with() {
  rm -f up.* saved.*
  background -n 2 --grace 60s -- bash -c 'trap "touch saved.$RANK; exit 0" TERM; touch up.$RANK
    while :; do sleep 0.05; done'
  wait_for files_there up.0 up.1
  kill -"$1" "$launcher"
  finish
  expect "$2" "SIG$1"
  files_there saved.0 saved.1 || die "SIG$1: ranks could not save"
  nothing_left || die "SIG$1 left: $(job_processes)"
}
stops_with INT 130
stops_with TERM 143
stops_with HUP 129

# The grace is longer than this test may take: only the second Ctrl-C ends it.
rm -f up.*
background -n 2 --grace 1000s -- bash -c 'trap "touch asked.$RANK" TERM; touch up.$RANK; while :; do sleep 0.05; done'
wait_for files_there up.0 up.1
kill -INT "$launcher"
wait_for files_there asked.0 asked.1
sleep 0.4 # two within 0.3 s count as one
kill -INT "$launcher"
finish
expect 130 "Ctrl-C twice"
nothing_left || die "Ctrl-C twice left: $(job_processes)"

# Suspended: launcher and ranks are stopped, for longer than a node may be silent.
rm -f up.*
background -n 2 --node-timeout 2s -- bash -c 'echo $$ >up.$RANK; while [ ! -e go ]; do sleep 0.05; done; echo went on'
wait_for test -s up.0
wait_for test -s up.1
kill -TSTP "$launcher"
wait_for is_stopped "$launcher"
wait_for is_stopped "$(cat up.0)"
wait_for is_stopped "$(cat up.1)"
touch go
sleep 3
is_stopped "$(cat up.0)" || die "rank 0 did not stay suspended"
kill -CONT "$launcher"
finish
expect 0 "suspended and resumed"
[ "$(grep -c 'went on' out)" = 2 ] || die "the ranks did not go on"
echo "signals: INT, INT twice, TERM, HUP, TSTP and CONT do what they should"
