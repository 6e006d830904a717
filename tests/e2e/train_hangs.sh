#!/usr/bin/env bash
# A rank that hangs is named by the others, with its op and group, and ends the job; a job that is stopped as a whole continues
# afterwards.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
long=(train.steps=1000000 comm.timeout=4)

steps_of() { cat "$work/$1/metrics.jsonl" 2>/dev/null | wc -l; }
has_steps() { [ "$(steps_of "$1")" -ge "$2" ]; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }

# case_stop VICTIM: stops one rank. Rank 0 keeps what ranks report about each other: without it the others know only that it is
# silent.
case_stop() {
  local victim=$1 name=stop$1 rank code silent
  start_job 3 $name determinism.virtual_ranks=3 zero.stage=$((victim * 3)) "${long[@]}"
  wait_for 60 has_steps $name 3 || fail "$name: no step"
  kill -STOP "${pids[$victim]}"
  for rank in 0 1 2; do
    [ $rank != $victim ] || continue
    wait_for 30 is_gone "${pids[$rank]}" || fail "$name: rank $rank hangs"
    kill -9 "${pids[$rank]}" 2>/dev/null
    wait "${pids[$rank]}"
    code=$?
    [ $code = 69 ] || fail "$name: rank $rank exits $code, not 69: $(tail -5 "$work/$name.$rank.out")"
    # On a busy machine rank 2 may find that rank 0, which noticed first, is gone. Rank 0 always names the culprit.
    [ $rank = 2 ] && silent="[0$victim]" || silent=$victim
    grep -qE "of group (world|gather|reduce)\): .*rank $silent has been silent for [0-9]+ s" "$work/$name.$rank.out" ||
      fail "$name: rank $rank does not name rank $victim: $(tail -5 "$work/$name.$rank.out")"
  done
  kill -9 "${pids[$victim]}"
  wait "${pids[$victim]}" 2>/dev/null
  pids=()
  [ $victim = 0 ] || grep -qhE "has been silent .* it was (in [a-z_]+[a-z0-9_.]*|between programs)" "$work"/stop1.*.out ||
    fail "stop1: nobody says where rank 1 was: $(tail -n 3 "$work"/stop1.*.out)"
}

# Ctrl-Z and fg, for longer than a rank may be silent.
case_pause() {
  local steps
  start_job 3 pause determinism.virtual_ranks=3 "${long[@]}"
  wait_for 60 has_steps pause 3 || fail "pause: no step"
  kill -STOP "${pids[@]}"
  sleep 6
  kill -CONT "${pids[@]}"
  steps=$(steps_of pause)
  wait_for 30 has_steps pause $((steps + 3)) || fail "pause: no step after it: $(tail -n 3 "$work"/pause.*.out)"
}

# The cases run at the same time, because all of them wait most of the time.
cases=()
for words in "case_stop 1" "case_stop 0" case_pause; do
  (
    trap 'kill -9 "${pids[@]}" 2>/dev/null' EXIT # all three share the folder
    $words
    exit $((failures > 0))
  ) &
  cases+=($!)
done
for pid in "${cases[@]}"; do wait "$pid" || failures=$((failures + 1)); done

[ $failures = 0 ] && echo "ranks that stand still: named; a job that does: goes on"
exit $((failures > 0))
