#!/usr/bin/env bash
# Signals to the launcher: stop, kill, suspend, continue; and its sudden death leaves nothing.
set -u
set -m # a process group of its own for each job, as a shell at a terminal does
dslaunch="$DS_BIN/dslaunch"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0
failures=0
# The ranks' sleep is found by its argument, which no other process has.
mark=97.$$

check() {  # NAME COMMAND...
  local name=$1
  shift
  checks=$((checks + 1))
  "$@" && return
  failures=$((failures + 1))
  printf 'FAILED: %s\n' "$name"
  cat err
}
alive() { pgrep -c -f "^sleep $mark\$"; }
# until_true SECONDS COMMAND...: as soon as the command succeeds.
until_true() {
  local until=$((SECONDS + $1))
  shift
  while ! "$@"; do
    [ $SECONDS -lt "$until" ] || return 1
    sleep 0.02
  done
}
alive_is() { [ "$(alive)" = "$1" ]; }
# start ARGS...: two ranks that run until they are stopped.
start() {
  "$dslaunch" -n 2 "$@" >out 2>err </dev/null &
  pid=$!
  until_true 20 alive_is 2
}
ended_with() { wait "$pid"; seen=$?; [ $seen = "$1" ]; }

for pair in INT:130 TERM:143 HUP:129; do
  start -- sleep $mark
  kill -s "${pair%:*}" $pid
  check "${pair%:*} ends the job" ended_with "${pair#*:}"
  check "and its ranks" until_true 5 alive_is 0
done
check 'the verdict of a signal' test "$(tail -n 1 err)" = 'dslaunch: got SIGHUP; 2 ranks stopped'

start -- sh -c 'trap "" TERM INT; sleep '$mark'; sleep '$mark
kill -INT $pid
until_true 10 grep -q 'waiting up to' err
check 'a rank that ignores TERM holds the job for the grace' kill -0 $pid
kill -INT $pid
check 'Ctrl-C twice kills' ended_with 130
check 'and leaves nothing' until_true 5 alive_is 0

# At a terminal Ctrl-C goes to the whole group: once for us, not to the ranks.
start -- sh -c 'trap "echo got INT" INT; sleep '$mark
kill -INT -- -$pid
check 'a group interrupt' ended_with 130
check 'does not reach the ranks' test ! -s out

state_of() { ps -o state= -p "$1" | cut -c1; }
job_state_is() { [ "$(state_of $pid)" = "$1" ]; }
rank_states() { pgrep -f "^sleep $mark\$" | while read -r rank; do state_of "$rank"; done | sort | tr -d '\n'; }
rank_states_are() { [ "$(rank_states)" = "$1" ]; }
start --node-timeout 2s -- sleep $mark
kill -TSTP $pid
check 'Ctrl-Z stops the ranks' until_true 10 rank_states_are TT
check 'and the launcher' until_true 10 job_state_is T
sleep 4 # longer than the node timeout
check 'for as long as it is wanted' rank_states_are TT
kill -CONT $pid
check 'continuing wakes the ranks' until_true 10 rank_states_are SS
sleep 3
check 'and the job goes on' kill -0 $pid
kill -INT $pid
check 'until it is stopped' ended_with 130

start --node-timeout 1s -- setsid sh -c 'trap "" TERM; sleep '$mark' & wait; sleep '$mark
kill -KILL $pid
wait $pid 2>/dev/null
check 'a killed launcher leaves nothing' until_true 6 alive_is 0

if [ "$failures" != 0 ]; then
  echo "signals: $failures of $checks checks failed"
  exit 1
fi
echo "signals: $checks checks passed"
