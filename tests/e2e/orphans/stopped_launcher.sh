#!/usr/bin/env bash
# Tests that a launcher that is stopped while its job starts leaves no agent behind 5 s later.
set -u
export DS_STOPPED=stopped-$$-$RANDOM$RANDOM
launchers=()
finish() {
  local pid
  for pid in "${launchers[@]}"; do kill -9 "$pid"; done 2> /dev/null
}
trap finish EXIT
for i in {0..23}; do
  "$DS_BIN/dslaunch" -n 2 -- sleep 30 2> /dev/null &
  launchers+=($!)
  sleep "0.00$((i % 8))"
  kill -STOP $!
done
# Those that live, without this script and the launchers that are stopped; a launcher that had ended already is none.
left() {
  local file pid state
  for file in $(grep -ls "DS_STOPPED=$DS_STOPPED" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$pid/status" 2> /dev/null)
    if [ -z "$state" ] || [[ " ${launchers[*]} " = *" $pid "* && "$state" = T ]]; then continue; fi
    echo "$pid $state $(cat "/proc/$pid/comm" 2> /dev/null)"
  done
}
for try in {1..50}; do
  [ -n "$(left)" ] || { echo "stopped launchers: 24, left behind: nothing"; exit 0; }
  sleep 0.1
done
echo "FAIL: left after 5 s:"
left
exit 1
