#!/usr/bin/env bash
# Elastic trainings on emulated GPUs over the fake NCCL: 4 -> 3 -> 4 ranks, a device that never does its part, and device memory that
# ended ranks free late. The job goes on from memory with the bits of the undisturbed run.
. "$(dirname "$0")/../../support/train_ranks.sh" || exit 1
. "$(dirname "$0")/../../support/elastic_jobs.sh" || exit 1
. "$(dirname "$0")/../../support/emulated_gpus.sh" || exit 1
emulate_gpus 4 || { echo "skipped: no emulated GPUs in this build"; exit 77; }
common=(device.backend=cuda determinism.virtual_ranks=4 batch.global=8 determinism.order=boundary train.steps=16 elastic.every=1)

run_job 2 plain "${common[@]:0:5}"
hash=$(summary_of plain weights_hash)
[ ${#hash} = 32 ] || fail "the undisturbed run has no weights_hash"

# 4 -> 3 -> 4 ranks by a loss and a pause; the memory of ended ranks is free only after a while. elastic_agents stands for the agents.
# Several threads fill the states of a device.
export DS_EMULATION_FREED_LATE=2000
for stage in 0 3; do
  name=sizes$stage
  DSLAUNCH_JOB_ID="job-$name" timeout 200 "$DS_TESTS/elastic_agents" "$work/$name" "a,b,c,d:1 lose b at 4; a,c,d:1 pause at 8; a,c,d,e:1 end" "$dsrunner" \
    "$work/train.toml" "log.dir=$work/$name" "${common[@]}" zero.stage=$stage device.threads=3 debug.slow_data=0:40 >"$work/$name.agents" 2>&1 </dev/null
  cat "$work/$name".e*.r0.out >"$work/$name.out"
  same $name
  says $name "resume   step [0-9]+ from memory \(4 ranks of epoch 0 -> 3 ranks"
  says $name "resume   step [0-9]+ from memory \(3 ranks of epoch 1 -> 4 ranks"
  says $name "of the device's memory are free, which is too little: waiting up to 30 s"
done
# An agent is killed under dslaunch.
job lost a,b,c,d zero.stage=2
kill_agents lost 3 1
ended lost
says lost "resume   step [0-9]+ from memory \(4 ranks of epoch 0"
# Memory that does not come back is an error.
DSLAUNCH_EPOCH=1 DS_EMULATION_FREED_LATE=1000000 start_rank 0 1 never "${common[@]}" comm.timeout=1
wait "${pids[0]}"
code=$?
[ $code = 65 ] || fail "never: exit $code: $(cat "$work/never.0.out")"
grep -q "waiting up to 2 s for memory that" "$work/never.0.out" && grep -q "of device memory per rank, the limit is 0 B" "$work/never.0.out" ||
  fail "never: $(cat "$work/never.0.out")"
pids=()
unset DS_EMULATION_FREED_LATE

# Each epoch, one operation of a device never happens. The ranks end, and the next epoch goes on.
export DS_FAKE_NCCL=stop=1:40
job stuck a,b zero.stage=2 comm.timeout=2
ended stuck
says stuck "resume   step [0-9]+ from memory \(2 ranks of epoch 0 -> 2 ranks"
unset DS_FAKE_NCCL
[ -z "$(ls "$work" | grep fake_nccl_)" ] || fail "the meeting places of NCCL are left: $(ls "$work" | grep fake_nccl_)"

[ $failures = 0 ] && echo "elastic jobs on emulated GPUs: all as promised"
exit $((failures > 0))
