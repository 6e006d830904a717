#!/usr/bin/env bash
# TERM in the middle of a step, several times, and kill -9 once: over all parts of the run, on different numbers of ranks, every
# sample is taken once and in the order of an unbroken run, and the weights are equal to its weights.
. "$(dirname "$0")/../../support/train_ranks.sh" || exit 1
seed=${1:-$RANDOM}
RANDOM=$seed
echo "samples.sh $seed"

steps=150
keys=(determinism.virtual_ranks=4 batch.accum=4 log.samples=true schedule.total=$steps train.steps=$steps
  model.dropout=0.1)
saves=("checkpoint.dir=$work/saves" checkpoint.every=7)
run_job 1 whole "${keys[@]}"

# After the first step ranks measure the machine, so the second step is the first usual one. On a fast machine the earlier parts
# may leave less than two steps.
runs_steps() { [ "$(grep -s '^step ' "$work/run.0.out" | wc -l)" -ge 2 ] || grep -qs '^done after' "$work/run.0.out"; }
interrupted=0
# part WORLD SIGNAL KEYS...: runs a part; one rank gets the signal some time after the second step; returns when all have ended
part() {
  local world=$1 signal=$2 rank code
  rm -f "$work"/run.*.out # of the part before
  start_job "$world" run "${keys[@]}" "${saves[@]}" "${@:3}"
  wait_for 60 runs_steps || { fail "no step: $(tail -n 3 "$work"/run.*.out)"; return; }
  sleep "0.$(printf '%03d' $((RANDOM % 80)))"
  if [ "$signal" = KILL ]; then
    kill -KILL "${pids[@]}" 2>/dev/null
  else
    kill -TERM "${pids[$((RANDOM % world))]}" 2>/dev/null
  fi
  for rank in "${!pids[@]}"; do
    wait "${pids[$rank]}" 2>/dev/null
    code=$?
    [ "$signal" = KILL ] || [ $code = 143 ] || [ $code = 0 ] ||
      fail "rank $rank of $world exits $code: $(tail -n 3 "$work/run.$rank.out")"
  done
  pids=()
  printf 'world %d, %-4s  %s ... %s\n' "$world" "$signal" "$(grep -m1 '^step ' "$work/run.0.out" | tr -s ' ' | cut -d' ' -f1,2)" \
    "$(grep '^checkpoint: ' "$work/run.0.out" | tail -n 1)"
  grep -q "^done after" "$work/run.0.out" && return
  interrupted=$((interrupted + 1))
  if [ "$signal" = TERM ]; then
    # The saved step is the last one that was run.
    local last
    last=$(sed -n 's/^{"step":\([0-9]*\),"loss.*/\1/p' "$work/run/metrics.jsonl" | tail -n 1)
    grep -q "^checkpoint: step $last saved in " "$work/run.0.out" ||
      fail "stopped after step $last: $(grep '^checkpoint: ' "$work/run.0.out" | tail -n 1)"
  fi
}

part 2 TERM
part 4 TERM zero.stage=2
part 1 KILL
part 3 TERM zero.stage=3
part 4 TERM zero.stage=1 offload.optimizer.device=cpu
[ $interrupted -ge 1 ] || fail "every part ended before its signal"
run_job 2 run "${keys[@]}" "${saves[@]}" zero.stage=3
"$DS_SOURCE/tests/e2e/checkpoint/ledger.py" "$work/run" $steps "$work/whole" || fail "the ledger of the run in parts"
[ "$(summary_of run weights_hash)" = "$(summary_of whole weights_hash)" ] || fail "other weights than those of the unbroken run"

# Another batch size: the next step continues with the next sample.
run_job 2 other "${keys[@]}" "checkpoint.dir=$work/other_saves" train.steps=3
run_job 4 other "${keys[@]}" "checkpoint.dir=$work/other_saves" train.steps=5 batch.accum=3
run_job 1 other "${keys[@]}" "checkpoint.dir=$work/other_saves" train.steps=9 batch.micro=1
"$DS_SOURCE/tests/e2e/checkpoint/ledger.py" "$work/other" 9 "$work/whole" || fail "the ledger over batches of other sizes"

# The check can fail: one ledger line is removed, one sample is replaced.
cp -r "$work/other" "$work/bad"
sed -i '2d' "$work/bad/previous-2/samples-rank0000.jsonl"
"$DS_SOURCE/tests/e2e/checkpoint/ledger.py" "$work/bad" 9 "$work/whole" >/dev/null 2>&1 && fail "a lost line is not seen"
cp -r "$work/other/." "$work/bad"
sed -i '1s/"samples":\[\([0-9]*\),/"samples":[0,/' "$work/bad/previous-2/samples-rank0001.jsonl"
"$DS_SOURCE/tests/e2e/checkpoint/ledger.py" "$work/bad" 9 "$work/whole" >/dev/null 2>&1 && fail "a sample taken twice is not seen"

[ $failures = 0 ] && echo "samples: each once"
exit $((failures > 0))
