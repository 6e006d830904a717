#!/usr/bin/env bash
# Kept states: the same bits with and without them at every stage and offload; copies that join and verify on two nodes; pauses;
# what happens without memory, without an agent and beside checkpoints. keep_agent stands for the agents.
. "$(dirname "$0")/../../support/train_ranks.sh" || exit 1
agent=$DS_TESTS/keep_agent
mkdir "$work/disk"

# kept_job NAME RANKS RANKS_PER_NODE PAUSE_AT KEYS...: the agent's report in $work/NAME.agent
kept_job() {
  MASTER_PORT=$("$DS_TESTS/comm_rank" free-port) DSLAUNCH_JOB_ID=keep DSLAUNCH_EPOCH=${epoch:-0} \
    "$agent" "$work/$1" "$2" "$3" "$4" "$dsrunner" "$work/train.toml" "log.dir=$work/$1" "${@:5}" >"$work/$1.agent" 2>&1 </dev/null
}
# exits NAME RANKS CODE: every rank must exit so
exits() {
  [ "$(grep -c "^exit [0-9]* $3$" "$work/$1.agent")" = "$2" ] || fail "$1: not all ranks exit $3: $(cat "$work/$1.agent" "$work/$1".0.out)"
}
# value NAME WORDS: the number behind these words of the agent's report
value() { sed -n "s/^$2 //p" "$work/$1.agent"; }
# complete NAME LEAST: own and ward copies of step LEAST or a later one join and verify, as rank 0 told
complete() {
  local of
  for of in own ward; do
    [ "$(value "$1" "complete $of")" -ge "$2" ] || fail "$1: no complete copies ($of) from step $2 on: $(cat "$work/$1.agent")"
    [ "$(value "$1" "complete $of")" -ge "$(value "$1" kept)" ] || fail "$1: rank 0 told a step that is not complete: $(cat "$work/$1.agent")"
  done
  ! grep -q "different heads\|damaged\|bad message" "$work/$1.agent" || fail "$1: $(cat "$work/$1.agent")"
}
says() { grep -qh -- "$2" "$work/$1".0.out || fail "$1: does not say '$2': $(cat "$work/$1".0.out)"; }

# The same bits.
hash=
for stage in 0 1 2 3; do
  for offload in none cpu nvme; do
    name=s$stage-$offload
    keys=(zero.stage=$stage determinism.order=boundary train.steps=6)
    [ $offload = none ] || keys+=(offload.optimizer.device=$offload offload.optimizer.tile=16384 "offload.optimizer.paths=$work/disk")
    kept_job $name 2 1 0 "${keys[@]}" elastic.every=1
    exits $name 2 0
    complete $name 1
    [ -n "$hash" ] || { run_job 2 plain train.steps=6 determinism.order=boundary && hash=$(summary_of plain weights_hash); }
    [ "$(summary_of $name weights_hash)" = "$hash" ] || fail "$name: weights $(summary_of $name weights_hash), without kept states $hash"
  done
done
[ ${#hash} = 32 ] || fail "no weights_hash without kept states"
for update in after forward backward; do
  name=update-$update
  kept_job $name 2 1 0 zero.stage=2 determinism.order=boundary train.steps=6 offload.optimizer.device=cpu offload.optimizer.update=$update \
    offload.optimizer.tile=16384 elastic.every=2
  exits $name 2 0
  complete $name 2
  [ "$(summary_of $name weights_hash)" = "$hash" ] || fail "$name: weights differ"
done
# Only the weights in files: keeps read the frozen ones beside the training.
apart=(model.preset=llama-tiny 'train.freeze=["embed*","layers.0.*"]' zero.stage=3 determinism.order=boundary train.steps=6
  offload.optimizer.device=cpu offload.param.device=nvme "offload.param.paths=$work/disk")
kept_job apart 2 1 0 "${apart[@]}" elastic.every=1
exits apart 2 0
complete apart 1
run_job 2 apart-plain "${apart[@]}"
[ "$(summary_of apart weights_hash)" = "$(summary_of apart-plain weights_hash)" ] || fail "apart: weights differ"

# Slots in files, on a file system without O_TMPFILE.
if ldd "$dsrunner" | grep -q 'lib[at]san'; then
  echo "left out: a file system without O_TMPFILE by LD_PRELOAD, which does not work with a sanitizer"
else
  DS_IO_FAULT=no_tmpfile LD_PRELOAD=$DS_TESTS/libio_faults.so kept_job named 2 1 0 zero.stage=2 train.steps=6 elastic.every=1 \
    offload.optimizer.device=nvme offload.optimizer.tile=16384 "offload.optimizer.paths=$work/disk"
  exits named 2 0
  complete named 1
  [ -z "$(ls -A "$work/disk")" ] || fail "named: left on the disk: $(ls -A "$work/disk")"
fi

# Four ranks on two nodes, and on one.
kept_job nodes 4 2 0 zero.stage=3 elastic.every=1 train.steps=6
exits nodes 4 0
complete nodes 1
kept_job one 2 2 0 zero.stage=1 elastic.every=1 train.steps=6
exits one 2 0
[ "$(value one "complete own")" -ge 1 ] || fail "one: no complete own copies: $(cat "$work/one.agent")"
! grep -q ward[01] "$work/one.agent" || fail "one: copies of wards on one node"
says one "no other node has copies"

# auto, only where the number of ranks may change; the first keep drops what earlier epochs left.
epoch=3 DSLAUNCH_ELASTIC_RANKS=1:4 kept_job auto 2 1 0 train.steps=10
exits auto 2 0
complete auto 0
grep -q "^slot e3.r1.own0 1 " "$work/auto.agent" || fail "auto: no slot of epoch 3: $(cat "$work/auto.agent")"
grep -q "^earlier epochs dropped" "$work/auto.agent" || fail "auto: earlier epochs are not dropped"
kept_job fixed 2 1 0 train.steps=3
exits fixed 2 0
! grep -q ^slot "$work/fixed.agent" || fail "fixed: states are kept though nobody asked"
run_job 1 alone elastic.every=1 train.steps=2
grep -q "nothing in spite of elastic.every" "$work/alone.0.out" || fail "alone: $(cat "$work/alone.0.out")"

# A pause: all end the same step, which is kept in both places.
kept_job pause 4 2 3 zero.stage=2 elastic.every=2 train.steps=1000000
exits pause 4 94
step=$(sed -n 's/^paused at step \([0-9]*\): its states are kept$/\1/p' "$work/pause.0.out")
[ -n "$step" ] && [ "$(value pause "complete own")" = "$step" ] && [ "$(value pause "complete ward")" = "$step" ] ||
  fail "pause: at step '$step': $(cat "$work/pause.agent" "$work/pause.0.out")"
[ "$(wc -l <"$work/pause/metrics.jsonl")" = "$step" ] || fail "pause: other steps were run than step $step says"

# A checkpoint that was asked for with the pause is written, too.
KEEP_AGENT_SAVES=1 kept_job asked 2 1 4 elastic.every=2 checkpoint.dir="$work/asked.ckpt" train.steps=1000000
exits asked 2 94
says asked "its states are kept"
grep -q "^checkpoint: step [0-9]* saved in" "$work/asked.0.out" || fail "asked: no checkpoint: $(cat "$work/asked.0.out")"

# Without kept states a pause saves, and without both it does not happen.
kept_job saved 2 1 3 elastic.every=0 checkpoint.dir="$work/saved.ckpt" train.steps=1000000
exits saved 2 94
says saved "its states are saved"
[ "$(ls "$work/saved.ckpt" | grep -c '^step-[0-9]*$')" = 1 ] || fail "saved: $(ls "$work/saved.ckpt")"
kept_job neither 2 1 2 elastic.every=0 train.steps=100 debug.slow_data=0:10 # a step is told every 200 ms
exits neither 2 0
says neither "not paused at step"

# Checkpoints and keeps at the same time; the checkpoints verify, and one that was written from a slot has the states of its step. A
# pause does not wait for a checkpoint.
run_job 2 longer train.steps=12 determinism.order=boundary
kept_job both 2 1 0 elastic.every=1 checkpoint.dir="$work/both.ckpt" checkpoint.every=2 train.steps=12 determinism.order=boundary
exits both 2 0
complete both 0
"$dsrunner" inspect "$work/both.ckpt" >"$work/inspect" 2>&1 && grep -q "step-00000012" "$work/inspect" || fail "both: $(cat "$work/inspect")"
earlier=$(ls "$work/both.ckpt" | grep '^step-[0-9]*$' | sort | tail -n 2 | head -n 1)
run_job 2 from-slot train.steps=12 determinism.order=boundary "checkpoint.resume=$work/both.ckpt/$earlier"
grep -q "^checkpoint: step [0-9]* resumed from" "$work/from-slot.0.out" || fail "from-slot: $(cat "$work/from-slot.0.out")"
for name in both from-slot; do
  [ "$(summary_of $name weights_hash)" = "$(summary_of longer weights_hash)" ] || fail "$name ($earlier): weights differ"
done
kept_job leaves 2 1 8 elastic.every=1 checkpoint.dir="$work/leaves.ckpt" checkpoint.every=2 checkpoint.rate=1M train.steps=1000000
exits leaves 2 94
complete leaves 8

# Without room for the copies the job says so and goes on; after three failures nothing is tried any more.
(
  trap '' XFSZ
  ulimit -f 64
  kept_job full 2 1 0 elastic.every=1 train.steps=12 determinism.order=boundary
)
exits full 2 0
[ "$(grep -c "no more states from now on" "$work/full.0.out")" = 1 ] || fail "full: $(cat "$work/full.0.out")"
[ "$(grep -c "is not kept, the next one that is due is tried: .*cannot be reserved" "$work/full.0.out")" = 2 ] || fail "full: $(cat "$work/full.0.out")"
[ "$(summary_of full weights_hash)" = "$(summary_of longer weights_hash)" ] || fail "full: weights differ"

# Files that the agents refuse are not kept states, and three failures end it.
KEEP_AGENT_REFUSES=1 kept_job refused 2 1 0 elastic.every=1 train.steps=12 determinism.order=boundary debug.slow_data=0:100
exits refused 2 0
[ "$(value refused kept)" = -1 ] || fail "refused: a step counts as kept: $(cat "$work/refused.agent")"
says refused "step 0 is not kept, the next one that is due is tried: rank [01]: the agent of this node does not hold e0.r[01].own0: not today"
says refused "no more states from now on"
[ "$(summary_of refused weights_hash)" = "$(summary_of longer weights_hash)" ] || fail "refused: weights differ"

# kill -9 of any rank at any moment: the others end soon, and a committed step is complete in both places.
has_steps() { [ "$(cat "$work/$1/metrics.jsonl" 2>/dev/null | wc -l)" -ge "$2" ]; }
for turn in 1 2 3 4 5 6; do
  name=crash$turn
  kept_job $name 4 2 0 zero.stage=$((turn % 4)) elastic.every=1 train.steps=1000000 &
  job=$!
  wait_for 60 has_steps $name 20 || fail "$name: no step"
  sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
  kill -9 "$(sed -n "s/^process $((turn % 4)) //p" "$work/$name.agent")"
  wait_for 20 eval "! kill -0 $job 2>/dev/null" || { fail "$name: the others hang" && kill -9 $job $(sed -n 's/^process [0-9]* //p' "$work/$name.agent"); }
  wait $job
  [ "$(grep -c "^exit [0-9]* 69$" "$work/$name.agent")" = 3 ] || fail "$name: the others do not exit 69: $(cat "$work/$name.agent")"
  # A slot that is being written is not valid, so one of the two copies may be newer than the other.
  complete $name 1
done

[ $failures = 0 ] && echo "kept states: all as promised"
exit $((failures > 0))
