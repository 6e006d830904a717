#!/usr/bin/env bash
# Ranks on emulated GPUs that communicate by NCCL: the same weights at every world size; a rank that fails, stands
# still or is stopped is named with operation and group; a job that stands still as a whole goes on.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
. "$(dirname "$0")/../support/emulated_gpus.sh" || exit 1
emulate_gpus 4 || { echo "skipped: no emulated GPUs in this build"; exit 77; }
gpu=(device.backend=cuda train.steps=4 determinism.virtual_ranks=4 batch.accum=1)
long=("${gpu[@]}" train.steps=1000000)

steps_of() { cat "$work/$1/metrics.jsonl" 2>/dev/null | wc -l; }
has_steps() { [ "$(steps_of "$1")" -ge "$2" ]; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }
# ends NAME RANK: that rank ends by itself with 69
ends() {
  wait_for 30 is_gone "${pids[$2]}" || fail "$1: rank $2 hangs"
  kill -9 "${pids[$2]}" 2>/dev/null
  wait "${pids[$2]}"
  local code=$?
  [ $code = 69 ] || fail "$1: rank $2 exits $code, not 69: $(tail -5 "$work/$1.$2.out")"
}

first=
for job in "1 0 true" "2 0 false" "2 3 true" "4 2 true"; do
  set -- $job
  name=world$1-stage$2-$3
  run_job "$1" "$name" "${gpu[@]}" zero.stage="$2" zero.overlap="$3"
  hash=$(summary_of "$name" weights_hash)
  [ ${#hash} = 32 ] || fail "$name: no weights_hash: $(tail -n 5 "$work/$name".*.out)"
  [ "$hash" = "${first:=$hash}" ] || fail "$name: the weights differ from world 1's"
  echo "$name $hash"
done

[ $failures = 0 ] || exit 1  # what follows would only wait

# NCCL finds an error: its own words, and the others learn which rank it was.
DS_FAKE_NCCL=error=1:6 start_job 2 error "${long[@]}" zero.stage=2
ends error 0
ends error 1
grep -qE 'rank 1 \(of group (gather|reduce)\): all_(gather|to_all) [a-z0-9.]+: remote process exited .*NCCL says: fake' \
  "$work/error.1.out" || fail "error: $(tail -n 3 "$work"/error.1.out)"
grep -q 'rank 1' "$work/error.0.out" || fail "error: rank 0 does not name rank 1: $(tail -n 3 "$work/error.0.out")"

# The device of one rank never does its part, though its host lives.
DS_FAKE_NCCL=stop=1:6 start_job 2 stuck "${long[@]}" zero.stage=3 comm.timeout=2
for rank in 0 1; do
  ends stuck $rank
  grep -qE "rank $rank \(of group gather\): all_gather gather\.[a-z0-9.]+: (no rank has made progress for|rank [01] has given up)" \
    "$work/stuck.$rank.out" || fail "stuck: $(tail -n 3 "$work/stuck.$rank.out")"
done

# A rank that is stopped.
start_job 3 stopped "${long[@]}" zero.stage=2 comm.timeout=3
wait_for 60 has_steps stopped 2 || fail "stopped: no step: $(tail -n 3 "$work"/stopped.*.out)"
kill -STOP "${pids[1]}"
# On a busy machine the second to notice may find the first one gone: one of them names the culprit, both say that they
# gave up for silence.
for rank in 0 2; do
  ends stopped $rank
  grep -qE "rank [01] has been silent for [0-9]+ s|rank [02] has given up" "$work/stopped.$rank.out" ||
    fail "stopped: rank $rank says nothing of it: $(tail -n 3 "$work/stopped.$rank.out")"
done
grep -qE "rank 1 has been silent for [0-9]+ s" "$work"/stopped.[02].out ||
  fail "stopped: nobody names rank 1: $(tail -n 3 "$work"/stopped.[02].out)"
kill -9 "${pids[1]}"
wait "${pids[1]}" 2>/dev/null

# Ctrl-Z and fg, for longer than any rank may be silent.
start_job 2 pause "${long[@]}" zero.stage=2 comm.timeout=2
wait_for 60 has_steps pause 2 || fail "pause: no step: $(tail -n 3 "$work"/pause.*.out)"
kill -STOP "${pids[@]}"
sleep 4
kill -CONT "${pids[@]}"
steps=$(steps_of pause)
wait_for 30 has_steps pause $((steps + 3)) || fail "pause: no step after it: $(tail -n 3 "$work"/pause.*.out)"
kill -9 "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
[ -z "$(ls "$work" | grep fake_nccl_)" ] || fail "the meeting places of NCCL are left: $(ls "$work" | grep fake_nccl_)"

[ $failures = 0 ] || exit 1
echo ok
