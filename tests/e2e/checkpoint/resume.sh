#!/usr/bin/env bash
# Jobs by dslaunch that resume at other world sizes, stages, offloads and forms of the master weights, and reach the weights of the
# unbroken run. Also resume = never, nothing left to do, more steps, other settings.
. "$(dirname "$0")/../../support/train_ranks.sh" || exit 1
[ -x "$DS_BIN/dslaunch" ] || { echo "FAILED: $DS_BIN/dslaunch is to be built first"; exit 1; }
mkdir "$work/nvme"
nvme=(offload.optimizer.device=nvme "offload.optimizer.paths=[\"$work/nvme\"]")
cpu=(offload.optimizer.device=cpu)
common=(determinism.virtual_ranks=4 determinism.order=step schedule.total=30 model.dropout=0.1 batch.accum=2)

# launch WORLD NAME KEYS...: runs a job that must succeed; output in NAME.out
launch() {
  timeout -s KILL 120 "$DS_BIN/dslaunch" -n "$1" "$work/train.toml" "log.dir=$work/$2" "${common[@]}" "${@:3}" \
    >"$work/$2.out" 2>&1 </dev/null || fail "$2: exit $?: $(tail -n 5 "$work/$2.out")"
}
# same NAME OTHER: checks that the weights are equal
same() {
  local a b
  a=$(summary_of "$1" weights_hash) b=$(summary_of "$2" weights_hash)
  [ ${#a} = 32 ] && [ "$a" = "$b" ] || fail "$1: the weights are not those of $2: '$a', '$b'"
  printf '%-28s %s\n' "$1" "$a"
}
says() { grep -q -- "$2" "$work/$1.out" || fail "$1 does not say '$2': $(cat "$work/$1.out")"; }
says_not() { grep -q -- "$2" "$work/$1.out" && fail "$1 says '$2': $(grep -- "$2" "$work/$1.out")"; }

# fp16 with overflows in every part: the loss scale, its hysteresis and window, and the count of skipped steps continue.
fp16=(precision.dtype=fp16 precision.loss_scale.init_power=10 precision.loss_scale.window=4
  debug.non_finite=3,4,6,9,13 schedule.type=linear schedule.warmup=10)
launch 2 whole16 "${fp16[@]}" train.steps=20
fp16+=("checkpoint.dir=$work/saves16")
launch 4 world4 "${fp16[@]}" zero.stage=3 "${nvme[@]}" train.steps=3
launch 2 world2 "${fp16[@]}" zero.stage=1 train.steps=9
launch 1 world1 "${fp16[@]}" "${cpu[@]}" train.steps=12
launch 4 fp16-4-2-1-4 "${fp16[@]}" zero.stage=2 train.steps=20
same fp16-4-2-1-4 whole16
says fp16-4-2-1-4 "checkpoint: step 12 resumed from $work/saves16/step-00000012"
[ "$(summary_of fp16-4-2-1-4 loss_scale)" = "$(summary_of whole16 loss_scale)" ] || fail "fp16: another loss scale"
[ "$(summary_of fp16-4-2-1-4 skipped_steps)" = 5 ] || fail "fp16: $(summary_of fp16-4-2-1-4 skipped_steps) steps skipped"
scales() { sed -n 's/.*"step":\([0-9]*\),.*"loss_scale":\([^,]*\),.*/\1:\2/p' "$@" | tr '\n' ' '; }
[ "$(scales "$work"/{world4,world2,world1,fp16-4-2-1-4}/metrics.jsonl)" = "$(scales "$work/whole16/metrics.jsonl")" ] ||
  fail "fp16: other scales: $(scales "$work"/{world4,world2,world1,fp16-4-2-1-4}/metrics.jsonl)"

# bf16: split master weights, whole ones in files, split ones again; saves while training continues.
launch 1 whole_bf16 precision.dtype=bf16 train.steps=20
bf16=(precision.dtype=bf16 "checkpoint.dir=$work/saves_bf16" checkpoint.every=3)
launch 2 split "${bf16[@]}" precision.master=split16 zero.stage=3 train.steps=8
launch 3 files "${bf16[@]}" zero.stage=1 "${nvme[@]}" train.steps=14
launch 4 bf16-split-whole-split "${bf16[@]}" precision.master=split16 train.steps=20
same bf16-split-whole-split whole_bf16

# Stage 3 -> 1 and states in files -> memory -> host, each with another time of the update.
fp32=("checkpoint.dir=$work/saves32")
launch 1 whole32 train.steps=20
launch 3 stage3 "${fp32[@]}" zero.stage=3 "${nvme[@]}" offload.param.device=nvme train.steps=7
launch 2 stage1 "${fp32[@]}" zero.stage=1 train.steps=13
cp -r "$work/saves32" "$work/saves13"
launch 2 fp32-3-1-files-memory-host "${fp32[@]}" "${cpu[@]}" offload.optimizer.update=backward train.steps=20
same fp32-3-1-files-memory-host whole32
says_not fp32-3-1-files-memory-host "differs"

# Nothing left to do: the same weights, and no further step.
launch 2 again "${fp32[@]}" train.steps=20
same again whole32
grep -q '"step"' "$work/again/metrics.jsonl" && fail "again: a step was taken"

# More steps than planned at first: the same steps as in a run planned with that number.
launch 1 whole24 train.steps=24
launch 4 more "${fp32[@]}" zero.stage=2 train.steps=24
same more whole24

# Another learning rate: a line reports it, and the weights differ.
launch 2 rate "checkpoint.dir=$work/saves13" optimizer.lr=1e-3 train.steps=20
says rate "optimizer.lr"
[ "$(summary_of rate weights_hash)" != "$(summary_of whole32 weights_hash)" ] || fail "rate: it made no difference"

# Without virtual_ranks and order, those of the checkpoint are kept.
common=(schedule.total=30 model.dropout=0.1 batch.accum=2)
cp -r "$work/saves13" "$work/kept" && rm -rf "$work/kept/step-00000020"
launch 3 kept "checkpoint.dir=$work/kept" train.steps=20
same kept whole32

# refused NAME TEXT FOLDER KEYS...
refused() {
  start_job 1 "$1" "checkpoint.dir=$work/$3" train.steps=22 "${@:4}"
  wait "${pids[0]}"
  local code=$?
  [ $code = 65 ] || fail "$1: exit $code"
  grep -qF -- "$2" "$work/$1.0.out" || fail "$1 does not say '$2': $(cat "$work/$1.0.out")"
  [ -s "$work/$1/metrics.jsonl" ] && fail "$1: a step was taken"
  pids=()
}
# The newest one is broken, and the one before was saved with other virtual ranks: the programs that were built do not fit it.
launch 1 two "checkpoint.dir=$work/ranks" determinism.virtual_ranks=2 train.steps=2
launch 1 four "checkpoint.dir=$work/ranks" determinism.virtual_ranks=4 train.steps=4
dd if=/dev/zero of="$work/ranks/step-00000004/rank-00000.chunk" bs=64 count=1 seek=64 conv=notrunc status=none
refused other-ranks "the next older checkpoint, $work/ranks/step-00000002, needs determinism.virtual_ranks=2" ranks
launch 1 given "checkpoint.dir=$work/ranks" determinism.virtual_ranks=4 determinism.order=step train.steps=4
says given "checkpoint: step 2 resumed from"

# never: starts at step 0; saved checkpoints are set aside and never used by a later run.
launch 2 never "checkpoint.dir=$work/saves13" checkpoint.resume=never train.steps=4
says_not never "resumed from"
[ -d "$work/saves13/step-00000020.set-aside" ] && [ -d "$work/saves13/step-00000013.set-aside" ] ||
  fail "never: $(ls "$work/saves13")"
launch 1 after_never "checkpoint.dir=$work/saves13" train.steps=20
says after_never "checkpoint: step 4 resumed from"
launch 2 whole_never train.steps=20
same after_never whole_never

# Another model, another vocabulary, missing moments: the tensors are named before step 0.
refused deeper "h.2.ln_1.weight is not in the checkpoint" saves13 model.layers=3
refused words "wte.weight is [256, 64] in the checkpoint and [512, 64] in the model" saves13 model.vocab=512
launch 1 lion "checkpoint.dir=$work/lions" optimizer.type=lion train.steps=1
refused adam "wte.weight has no moment2 in the checkpoint" lions

# never, and a restart of the failed job: it resumes from what it saved itself.
rm -rf "$work/saves13"/step-*.set-aside
timeout -s KILL 120 "$DS_BIN/dslaunch" -n 2 --max-restarts 1 "$work/train.toml" "log.dir=$work/restarted" "${common[@]}" \
  "checkpoint.dir=$work/saves13" checkpoint.resume=never checkpoint.every=2 checkpoint.async=false train.steps=9 \
  precision.on_nonfinite=abort debug.non_finite=7,8 >"$work/restarted.out" 2>&1 </dev/null && fail "restarted: exit 0"
[ "$(grep -c "resumed from" "$work/restarted.out")" = 1 ] || fail "restarted: $(cat "$work/restarted.out")"
says restarted "checkpoint: step 6 resumed from $work/saves13/step-00000006"
[ -d "$work/saves13/step-00000020.set-aside" ] && [ ! -e "$work/saves13/step-00000006.set-aside" ] ||
  fail "restarted: $(ls "$work/saves13")"

# A disk that takes longer than comm.timeout while training waits for it: no rank is given up.
if ldd "$dsrunner" | grep -q 'lib[at]san'; then
  echo "left out: a slow disk by LD_PRELOAD, which does not work with a sanitizer"
else
  mkdir "$work/slow"
  export DS_SAVE_FAULTS="1/sync/chunk/1/1/delay/3500" DS_SAVE_FAULTS_DIR="$work/slow" DS_SAVE_FAULTS_LOG="$work/slow.notes"
  LD_PRELOAD=$DS_TESTS/libsave_faults.so run_job 2 slow "checkpoint.dir=$work/slow" comm.timeout=2 train.steps=2
  unset DS_SAVE_FAULTS DS_SAVE_FAULTS_DIR DS_SAVE_FAULTS_LOG
  grep -q "1 ! delay" "$work/slow.notes" || fail "slow: the disk was not: $(cat "$work/slow.notes")"
fi

# A job saves once more and ends while the next one begins: the next one waits, and resumes from that save.
launch 1 ending "checkpoint.dir=$work/ending" checkpoint.every=2 train.steps=4
mv "$work/ending/step-00000004" "$work/step4"
exec 8>>"$work/ending/.lock" && flock 8
start_job 1 late "checkpoint.dir=$work/ending" train.steps=6 8>&-
wait_for 20 grep -q "saves there; waiting up to" "$work/late.0.out"
mv "$work/step4" "$work/ending/step-00000004"
exec 8>&-
wait "${pids[0]}" && grep -q "step 4 resumed from" "$work/late.0.out" || fail "late: $(cat "$work/late.0.out")"
pids=()
[ -d "$work/ending/step-00000004" ] || fail "late: $(ls "$work/ending")"

[ -z "$(ls -A "$work/nvme")" ] || fail "files are left on the drives: $(ls "$work/nvme")"
[ $failures = 0 ] && echo "resuming: equal weights"
exit $((failures > 0))
