#!/usr/bin/env bash
# fp16 with overflows at chosen steps: they are skipped, the scale follows its rule, the bits do not depend on the world size. A NaN
# in a chosen layer ends the job with an error that names the layer.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1

fp16=(precision.dtype=fp16 schedule.type=linear schedule.warmup=10 schedule.total=100 train.steps=12
  determinism.virtual_ranks=2 precision.loss_scale.init_power=10)
# column NAME KEY: prints a column of metrics.jsonl in one line
column() { sed -n "s/.*\"$2\":\([^,}]*\).*/\1/p" "$work/$1/metrics.jsonl" | tr '\n' ' '; }
# same WHAT GOT EXPECTED: checks for equal texts
same() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }

# The first overflow uses up the hysteresis, the next two halve the scale, five clean steps after the last one double it.
run_job 2 chosen "${fp16[@]}" debug.non_finite=3,4,6 precision.loss_scale.window=4
same "scale of each step" "$(column chosen loss_scale)" "1024 1024 1024 1024 512 512 256 256 256 256 256 512 "
same "skipped so far" "$(column chosen skipped_steps)" "0 0 1 2 2 3 3 3 3 3 3 3 "
same "skipped in the summary" "$(summary_of chosen skipped_steps)" 3
# A skipped step does not advance the schedule: warm-up in tenths of 0.003, the third update at step 5.
same "rates" "$(column chosen lr | cut -d' ' -f1,2,5,7 | xargs printf '%.6f ')" "0.000300 0.000600 0.000900 0.001200 "
grep -q "skipped" "$work/chosen.0.out" || fail "the progress line does not say that steps were skipped"

# Skipping the last step leaves weights and moments as they were before it.
run_job 2 before "${fp16[@]}" train.steps=4
run_job 2 after "${fp16[@]}" train.steps=5 'debug.non_finite="5"'
same "weights after a skipped step" "$(summary_of after weights_hash)" "$(summary_of before weights_hash)"

run_job 1 alone "${fp16[@]}" debug.non_finite=3,4,6 precision.loss_scale.window=4
same "weights at world 1 and 2" "$(summary_of alone weights_hash)" "$(summary_of chosen weights_hash)"
for stage in 1 2 3; do
  run_job 2 "stage$stage" "${fp16[@]}" debug.non_finite=3,4,6 precision.loss_scale.window=4 zero.stage=$stage \
    determinism.order=boundary
  same "weights at stage $stage" "$(summary_of "stage$stage" weights_hash)" "$(summary_of chosen weights_hash)"
done
run_job 2 offloaded "${fp16[@]}" debug.non_finite=3,4,6 precision.loss_scale.window=4 zero.stage=1 offload.optimizer.device=cpu \
  offload.optimizer.tile=8192 offload.optimizer.update=forward
same "weights with the update beside the next forward" "$(summary_of offloaded weights_hash)" "$(summary_of chosen weights_hash)"

# A skipped step leaves the same bits wherever states and weights are stored and whenever they are updated.
mkdir "$work/files"
skip=(precision.dtype=bf16 precision.on_nonfinite=skip debug.non_finite=3,7 determinism.order=step
  determinism.virtual_ranks=2 train.steps=9)
run_job 2 plain "${skip[@]}"
run_job 2 split "${skip[@]}" precision.master=split16 zero.stage=2
run_job 2 files "${skip[@]}" zero.stage=3 offload.optimizer.device=nvme offload.param.device=nvme offload.grad.device=cpu \
  "offload.optimizer.paths=[\"$work/files\"]" offload.optimizer.tile=4096
run_job 2 host "${skip[@]}" zero.stage=3 offload.optimizer.device=cpu offload.param.device=cpu offload.optimizer.update=after
run_job 1 undone "${skip[@]}" zero.stage=1 offload.optimizer.device=cpu offload.optimizer.update=backward
same "skipped in bf16" "$(summary_of plain skipped_steps)" 2
for name in split files host undone; do
  same "weights of $name" "$(summary_of $name weights_hash)" "$(summary_of plain weights_hash)"
done

# A far too high initial scale overflows repeatedly until the scale fits.
run_job 1 high "${fp16[@]}" precision.loss_scale.init_power=30 precision.loss_scale.hysteresis=1 train.steps=30 log.every=30
skipped=$(summary_of high skipped_steps)
[ "${skipped:-0}" -ge 4 ] && [ "$skipped" -lt 30 ] || fail "a start at 2^30 skipped '$skipped' steps"
echo "a start at 2^30: $skipped steps skipped, then scale $(summary_of high loss_scale), loss $(summary_of high train_loss)"

# ended NAME WORDS: checks that all ranks of the last job failed, each with these words
ended() {
  local rank code
  for rank in "${!pids[@]}"; do
    wait "${pids[$rank]}"
    code=$?
    [ $code != 0 ] || fail "$1: rank $rank ended well"
    grep -qF -- "$2" "$work/$1.$rank.out" || fail "$1, rank $rank: no '$2' in: $(cat "$work/$1.$rank.out")"
  done
  pids=()
}
start_job 2 floor "${fp16[@]}" precision.loss_scale.min=1024 debug.non_finite=2,3
ended floor "the gradients overflow fp16 at the lowest loss scale, 1024"
start_job 2 nan precision.dtype=bf16 debug.non_finite=3:block1.mlp.fc
ended nan "step 3: block1.mlp.fc made block1.mlp.fc.out"
start_job 2 nan3 precision.dtype=bf16 zero.stage=3 recompute.policy=block debug.non_finite=2:block0.ln2
ended nan3 "step 2: block0.ln2 made block0.ln2.sum"
start_job 2 nan-fp16 "${fp16[@]}" precision.on_nonfinite=abort debug.non_finite=2:block0.attn
ended nan-fp16 "step 2: block0.attn made block0.attn.out"
run_job 2 nan-skipped debug.non_finite=3:block1.mlp.fc precision.on_nonfinite=skip
same "a NaN that is skipped in fp32" "$(summary_of nan-skipped skipped_steps)" 1

[ $failures = 0 ] && echo "loss scale: as defined"
exit $((failures > 0))
