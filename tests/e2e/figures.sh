#!/usr/bin/env bash
# What people look at during training: curves for TensorBoard and CSV that a resume does not double, and the phases of a step,
# which add up and name the slow rank. None of it changes a bit of the result.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
small=(determinism.virtual_ranks=2 data.validation=0.05 train.validate_batches=1 schedule.total=100)

# lines NAME: the lines of logged steps
lines() { grep '"loss":' "$work/$1/metrics.jsonl"; }
# losses NAME...: step and loss of every logged step, as text
losses() { for name; do lines "$name"; done | sed 's/^{"step":\([0-9]*\),"loss":\([^,]*\),.*/\1 \2/'; }
# points FOLDER TAG: step and value of a curve
points() {
  "$DS_TESTS/event_points" "$1" >"$work/points" || fail "$1: event_points exits $?"
  awk -v tag="$2" '$1 == tag { print $2, $3 }' "$work/points"
}
# same_curve WHAT FILE FILE: two lists of steps and values, which may differ by the rounding to float
same_curve() {
  [ -s "$2" ] && paste -d ' ' "$2" "$3" | awk '{ d = $2 - $4; if (d < 0) d = -d
    if (NF != 4 || $1 != $3 || d > 1e-6 * ($2 < 0 ? -$2 : $2)) exit 1 }' || fail "$1: $(paste "$2" "$3")"
}
# drift NAME: how much of the time the phases miss. A line's time minus the sum of all phases up to it is about the same in every
# line; printed is how much it grows from the first lines to the last ones (medians of 5), and the time between them.
drift() {
  lines "$1" | sed 's/.*"elapsed_s":\([^,]*\),.*"phases":{\(.*\)}}/\1 \2/; s/"[a-z]*"://g; s/,/ /g' |
    awk 'function median(first, i, j, t, v) {
      for (i = 0; i < 5; i++) v[i] = rest[first + i]
      for (i = 0; i < 5; i++) for (j = i + 1; j < 5; j++) if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
      return v[2]
    }
    { for (i = 2; i <= NF; i++) sum += $i; rest[NR] = $1 - sum; time[NR] = $1 }
    END { print median(NR - 4) - median(2), time[NR] - time[1] }'
}
adds_up() {
  drift "$1" | awk '{ exit !($2 > 0 && $1 < 0.02 * $2 && $1 > -0.02 * $2) }' || fail "$1: the phases miss some time: $(drift "$1")"
}

# A run of 10 steps with checkpoints of steps 4 and 8; its resume repeats steps 9 and 10.
saves=(checkpoint.dir="$work/saves" checkpoint.every=4 checkpoint.async=false checkpoint.at_end=false train.validate_every=4)
all=(log.tensorboard=true log.csv=true)
run_job 2 run "${small[@]}" "${saves[@]}" "${all[@]}" train.steps=10
run_job 2 run "${small[@]}" "${saves[@]}" "${all[@]}" train.steps=12
grep -q "step 8 resumed" "$work/run.0.out" || fail "no resume at step 8: $(cat "$work/run.0.out")"
run_job 2 whole "${small[@]}" train.steps=12 log.phases=false
! grep -q phases "$work/whole/metrics.jsonl" || fail "log.phases = false: phases in $(head -n 1 "$work/whole/metrics.jsonl")"
[ -n "$(summary_of run weights_hash)" ] && [ "$(summary_of run weights_hash)" = "$(summary_of whole weights_hash)" ] ||
  fail "figures change weights: $(summary_of run weights_hash), $(summary_of whole weights_hash)"
losses whole >"$work/losses"
{ losses run/previous-1 | head -n 8; losses run; } >"$work/parts"
cmp -s "$work/losses" "$work/parts" || fail "figures change losses: $(paste "$work/losses" "$work/parts")"

points "$work/run/tensorboard" train/loss >"$work/curve"
same_curve "TensorBoard, steps" "$work/curve" "$work/losses"
awk '{ print $1 * 4, $2 }' "$work/losses" >"$work/by_sample" # 2 virtual ranks of 2 sequences
points "$work/run/tensorboard/samples" Train/Samples/train_loss >"$work/curve"
same_curve "TensorBoard, samples" "$work/curve" "$work/by_sample"
points "$work/run/tensorboard/samples" Train/Samples/lr | wc -l | grep -qx 12 || fail "Train/Samples/lr: $(cat "$work/points")"
[ "$(echo $(points "$work/run/tensorboard" validation/loss | cut -d ' ' -f 1))" = "4 8 12" ] || fail "validation/loss: $(cat "$work/points")"
[ "$(echo $(points "$work/run/tensorboard" checkpoint/bytes | cut -d ' ' -f 1))" = "4 8 12" ] || fail "checkpoint/bytes: $(cat "$work/points")"
for tag in train/lr train/grad_norm train/tokens_per_s phases/forward phases/slowest_rank; do
  [ "$(points "$work/run/tensorboard" $tag | wc -l)" = 12 ] || fail "$tag: $(cat "$work/points")"
done

for name in run/previous-1 run; do
  tr -d '\r' <"$work/$name/metrics.csv" | awk -F , 'NR > 1 && $2 != "" { print $1, $2 }' >"$work/table"
  losses $name | cmp -s - "$work/table" || fail "$name/metrics.csv: $(cat "$work/$name/metrics.csv")"
  awk -F , -v RS='\r\n' 'NR == 1 { n = NF } NF != n { exit 1 }' "$work/$name/metrics.csv" || fail "$name/metrics.csv: rows of different lengths"
done

# The phases of a slow rank (on a busy machine the other one may be slower now and then), and what the end of the run says of it.
late='"slowest_rank":1,.*"data":(0\.(0[2-9]|[1-9])|[1-9][0-9]*(\.[0-9]+)?,)'
# slow_rank NAME MILLISECONDS KEYS...: rank 1 gets its data so late, in most of 12 lines. A step hides its own time of that; on a busy machine
# steps are long, and the data must come later still.
slow_rank() {
  local late_by named
  for late_by in "$2" $(($2 * 5)) $(($2 * 25)); do
    run_job 2 "$1" "${small[@]}" train.steps=12 "${@:3}" debug.slow_data=1:$late_by
    named=$(lines "$1" | grep -cE "$late")
    [ "$named" -lt 8 ] || break
  done
  [ "$named" -ge 8 ] || fail "$1: $named of 12 lines name rank 1 and its data: $(lines "$1" | sed 's/.*"slowest/"slowest/')"
  adds_up "$1"
}
slow_rank slow 80
grep -q '^waited for data [0-9.]* % of the time' "$work/slow.0.out" || fail "slow: no line about data: $(tail -n 3 "$work/slow.0.out")"

# All kinds of phases: stage 3, states in files, saves.
mkdir "$work/disk"
run_job 2 files "${small[@]}" zero.stage=3 offload.optimizer.device=nvme "offload.optimizer.paths=$work/disk" offload.optimizer.tile=16384 \
  checkpoint.dir="$work/files_saves" checkpoint.every=5 checkpoint.async=false train.validate_every=10 train.steps=40
adds_up files
for phase in forward backward reduce gather update offload control data save validation; do
  grep -q "^ *\"$phase\": [0-9.e-]*[1-9]" "$work/files/summary.json" || fail "files: no time in $phase: $(grep -A 12 phases "$work/files/summary.json")"
done

# A save that first runs the update that is due is a save all the same, after that update.
run_job 2 due "${small[@]}" zero.stage=1 offload.optimizer.device=cpu offload.optimizer.update=forward \
  checkpoint.dir="$work/due_saves" checkpoint.every=2 checkpoint.async=false checkpoint.at_end=false train.steps=21
stalls=$(sed -n 's/.*"stall_s":\([^,]*\),.*/\1/p' "$work/due/metrics.jsonl" | awk '{ sum += $1 } END { print sum }')
lines due | sed 's/.*"save":\([^,]*\),.*/\1/' | awk -v stalls="$stalls" '{ sum += $1 } END { exit !(stalls > 0 && sum > stalls / 2) }' ||
  fail "due: saves stalled for $stalls s: $(lines due | sed 's/.*"phases"//')"

# On an accelerator the clock follows the compute stream.
. "$(dirname "$0")/../support/emulated_gpus.sh" || exit 1
if emulate_gpus 2; then
  export DSLAUNCH_CUDA_ATTENTION=own
  slow_rank emulated 200 model.layers=1 data.seq_len=8 batch.micro=1 device.backend=cuda zero.stage=3
  for phase in forward backward reduce gather update; do
    grep -q "^ *\"$phase\": [0-9.e-]*[1-9]" "$work/emulated/summary.json" || fail "emulated: no time in $phase"
  done
else
  echo "without the emulated GPU: not in this build"
fi

[ $failures = 0 ] && echo "figures: resumed curves are whole, phases add up, the slow rank is named"
exit $((failures > 0))
