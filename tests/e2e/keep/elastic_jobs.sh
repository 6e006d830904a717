#!/usr/bin/env bash
# Elastic trainings under dslaunch: a rank is killed, agents are killed one by one and two at once, hosts come back and leave. The job goes on
# from memory, or from the disk when two buddies are lost together, with the bits of the undisturbed run.
. "$(dirname "$0")/../../support/train_ranks.sh" || exit 1
. "$(dirname "$0")/../../support/elastic_jobs.sh" || exit 1
mkdir "$work/disk"
common=(determinism.virtual_ranks=12 batch.global=24 determinism.order=boundary train.steps=40 optimizer.clip=0.5 elastic.every=1)

run_job 2 plain "${common[@]:0:5}"
hash=$(summary_of plain weights_hash)
[ ${#hash} = 32 ] || fail "the undisturbed run has no weights_hash"

run_job 2 other "${common[@]:1:4}" determinism.virtual_ranks=6 batch.accum=2
[ "$(summary_of other weights_hash)" != "$hash" ] || fail "other virtual ranks give the same weights: the comparison cannot fail"

# Memory that suffices for 4 ranks, not for 1.
limit=$("$dsrunner" plan "$work/train.toml" "${common[@]}" --nodes 1:4 --host-memory 1G --json | python3 -c '
import json, sys
bytes = [size["host_bytes"] for size in json.load(sys.stdin)["sizes"]]
print((bytes[0] + bytes[3]) // 2)')
"$DS_BIN/dslaunch" -H a,b,c,d --transport local --nodes 1:4 "$work/train.toml" "log.dir=$work/fewest" "${common[@]}" "device.host_memory=$limit" \
  >"$work/fewest.out" 2>&1 </dev/null
code=$?
[ $code = 65 ] || fail "fewest: exit $code: $(cat "$work/fewest.out")"
says fewest "at 1 rank, the fewest of this elastic job: the plan needs .* of host memory per rank, the limit is .* of each rank are kept states"

# kill -9 of a rank, at a fixed size.
job rank a:2,b:2
wait_for 60 reached rank 10 || fail "rank: $(cat "$work/rank.out")"
kill -9 "$(ranks_of rank 1 | head -1)"
ended rank
says rank "resume   step [0-9]+ from memory \(4 ranks of epoch 0 -> 4 ranks, 0 B moved"

# Two agents, one after the other; their hosts are dialed again and join.
for cell in 0:none 2:none 3:nvme; do
  name=agents-${cell/:/-}
  keys=(zero.stage=${cell%:*})
  [ "${cell#*:}" = none ] || keys+=(offload.optimizer.device=${cell#*:} offload.optimizer.tile=16384 "offload.optimizer.paths=$work/disk")
  job $name a,b,c,d "${keys[@]}"
  kill_agents $name 8 1
  kill_agents $name 24 0
  ended $name
  [ "$(grep -c "resume   step [0-9]* from memory" "$work/$name.out")" -ge 2 ] || fail "$name: not from memory: $(cat "$work/$name.out")"
  ! grep -q "resumed from\|memory is not used" "$work/$name.out" || fail "$name: $(cat "$work/$name.out")"
done

# Two buddies at once: the disk.
job two a,b,c,d checkpoint.dir="$work/two.ckpt" checkpoint.every=3
kill_agents two 14 1 2
ended two
says two "epoch 1: 2 nodes and 2 ranks .before: 4 and 4.; [bc] is also lost"
says two "memory is not used: step [0-9]+ of epoch 0 lacks the shares? of ranks? 1"
says two "checkpoint: step [0-9]+ resumed from"

# A host leaves by plan, and another one is lost at once: what the first one keeps is still there, whether the second is lost before the
# epoch ends or before the next one has kept its states.
export DSLAUNCH_RUNTIME_DIR="$work/runtime"
mkdir -m 700 "$DSLAUNCH_RUNTIME_DIR"
for when in 'pausing the training' 'epoch 1: 2 nodes'; do
  name=leave-${when%% *}
  job "$name" a,b,c
  wait_for 60 reached "$name" 1 && wait_for 20 find_agent "$name" 1 && lost=$agent
  wait_for 60 reached "$name" 8 || fail "$name: $(cat "$work/$name.out")"
  "$DS_BIN/dslaunch" scale --remove c >"$work/scale.out" 2>&1 || fail "$name: $(cat "$work/scale.out")"
  said_soon "$name" "$when"
  kill -9 "$lost"
  ended "$name"
  says "$name" 'c must leave'
  says "$name" 'c takes part once more'
  ! grep -q "memory is not used" "$work/$name.out" || fail "$name: $(cat "$work/$name.out")"
done

# A host beyond the new number of nodes waits with what it keeps, and takes the place of one that is lost.
job size a,b,c
wait_for 60 reached size 8 && "$DS_BIN/dslaunch" scale --nodes 2 >"$work/scale.out" 2>&1 || fail "size: $(cat "$work/scale.out")"
kill_agents size 20 1
ended size
says size 'epoch 2: 2 nodes and 2 ranks; c joins'
! grep -q "memory is not used\|cannot join" "$work/size.out" || fail "size: $(cat "$work/size.out")"

# term NAME: TERM to the launcher, which ends with 143
term() {
  kill -TERM "${pids[0]}"
  wait "${pids[0]}"
  local code=$?
  pids=()
  [ $code = 143 ] || fail "$1: exit $code: $(cat "$work/$1.out")"
}
# term_when NAME TEXT KEYS...: TERM when a host leaves and the text is said
term_when() {
  job "$1" a,b,c "${@:3}"
  wait_for 60 reached "$1" 8 && "$DS_BIN/dslaunch" scale --remove c >"$work/scale.out" 2>&1 || fail "$1: $(cat "$work/scale.out")"
  said_soon "$1" "$2"
  term "$1"
}
# The states that are kept are saved, if there is a folder for them.
term_when unsaved 'the ranks have paused'
! grep -q 'begin once more' "$work/unsaved.out" || fail "unsaved: $(cat "$work/unsaved.out")"
term_when pausing 'pausing the training' checkpoint.dir="$work/pausing.ckpt" checkpoint.every=1000
says pausing 'checkpoint: step [0-9]+ saved'
term_when between 'the ranks have paused' checkpoint.dir="$work/between.ckpt" checkpoint.every=1000
says between 'checkpoint: step [0-9]+ saved'
job after a,b checkpoint.dir="$work/between.ckpt" checkpoint.every=1000
wait "${pids[0]}"
code=$?
pids=()
[ $code = 0 ] || fail "after: exit $code: $(cat "$work/after.out")"
says after 'checkpoint: step ([89]|[1-3][0-9]) resumed'
[ "$(summary_of after weights_hash)" = "$hash" ] || fail "after TERM between two epochs: other weights"

# A training that neither keeps nor saves its states would begin again at step 0: no host leaves it, and it is not paused for one that joins.
job loses a,b,c elastic.every=0 train.steps=4000
wait_for 60 reached loses 3 || fail "loses: $(cat "$work/loses.out")"
for change in '--remove c' '--nodes 2'; do
  "$DS_BIN/dslaunch" scale $change >"$work/scale.out" 2>&1 && fail "loses: scale $change is not refused"
  grep -q 'the training would begin again at step 0' "$work/scale.out" || fail "loses: scale $change: $(cat "$work/scale.out")"
done
"$DS_BIN/dslaunch" scale --add d >"$work/scale.out" 2>&1 || fail "loses: $(cat "$work/scale.out")"
said_soon loses 'd is ready and joins at the next restart; the training is not paused, because'
term loses
! grep -q 'again$\|pausing' "$work/loses.out" || fail "loses: $(cat "$work/loses.out")"

[ $failures = 0 ] && echo "elastic jobs: all as promised"
exit $((failures > 0))
