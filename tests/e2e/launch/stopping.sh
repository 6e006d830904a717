#!/usr/bin/env bash
# Tests stopping: TERM goes only to a rank's main process, KILL after the grace to all its processes; processes that a rank
# leaves behind end with it.
set -u
. "$DS_SOURCE/tests/support/launch.sh"

run -n 2 --grace 500ms -- bash -c 'if [ $RANK = 0 ]; then while [ ! -e deaf ]; do sleep 0.02; done; exit 4; fi; trap "" TERM
  setsid sleep 60 & : >deaf; while :; do sleep 1; done'
expect 4 "a rank that ignores TERM"
grep -q '^dslaunch: rank 0 on localhost: exited 4 (first failure); 1 rank ended after it, by KILL$' err ||
  die "the killed rank is not told"
nothing_left || die "left: $(job_processes)"

# The helper of rank 1 must live through TERM, so that the rank can save with it.
run -n 2 --grace 30s -- bash -c 'if [ $RANK = 0 ]; then while [ ! -e ready ]; do sleep 0.05; done; exit 6; fi
  trap "touch saved" TERM
  bash -c "trap \"echo helper got TERM\" TERM; touch ready; while [ ! -e saved ]; do sleep 0.05; done; echo helper lived" &
  wait; wait'
expect 6 "TERM for the main process"
grep -q 'helper lived' out || die "the rank's helper did not live"
grep -q 'helper got TERM' out && die "TERM went to the rank's helper"

run -n 1 -- bash -c '(setsid sleep 60 &) ; sleep 0.1'
expect 0 "a rank that leaves a daemon"
nothing_left || die "left: $(job_processes)"

# KILL of the launcher: its ranks end by themselves.
background -n 3 --grace 1s -- bash -c 'trap "" TERM; setsid sleep 60 & touch up.$RANK; while :; do sleep 1; done'
wait_for files_there up.0 up.1 up.2
kill -9 "$launcher"
finish
wait_for nothing_left
echo "stopping: TERM, grace, KILL, and nothing left"
