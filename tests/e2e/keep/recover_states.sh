#!/usr/bin/env bash
# Recovery: ranks that are killed, nodes that are lost, that leave and join; the next epoch goes on from memory with the bits of the
# undisturbed run. Lost buddies and broken copies: an older step, the disk, or step 0. elastic_agents stands for the agents.
. "$(dirname "$0")/../../support/train_ranks.sh" || exit 1
agents=$DS_TESTS/elastic_agents
mkdir "$work/disk"
common=(determinism.virtual_ranks=12 batch.global=24 determinism.order=boundary train.steps=16 optimizer.clip=0.5)
slow=debug.slow_data=0:40

within=() # command in which the agents of a history run
# history NAME SCRIPT KEYS...: report of the agents in $work/NAME.agents, run folder $work/NAME
history() {
  DSLAUNCH_JOB_ID="job-$1" timeout 200 "${within[@]}" "$agents" "$work/$1" "$2" "$dsrunner" "$work/train.toml" "log.dir=$work/$1" "${common[@]}" $slow "${@:3}" \
    >"$work/$1.agents" 2>&1 </dev/null || fail "$1: the agents failed: $(cat "$work/$1.agents")"
  grep -q "timed out\|bad message" "$work/$1.agents" && fail "$1: $(cat "$work/$1.agents" "$work/$1".e*.r0.out)"
}
# says NAME EPOCH WORDS
says() { grep -qhE -- "$3" "$work/$1.e$2.r0.out" || fail "$1: epoch $2 does not say '$3': $(cat "$work/$1.e$2.r0.out" "$work/$1.agents")"; }
# same NAME: weights, and loss and norm of each step, as undisturbed
same() {
  python3 "$DS_SOURCE/tests/e2e/elastic/check_history.py" "$work/plain" "$work/$1" >"$work/$1.check" ||
    fail "$1: $(cat "$work/$1.check" "$work/$1.agents")"
}
# makes_room NAME: before it keeps anything, epoch 1 has dropped all that epoch 0 kept, which it does not go on from
makes_room() {
  [ "$(grep -c "^epoch 1 begins to keep beside 0 files" "$work/$1.agents")" = 2 ] || fail "$1: kept files are left: $(cat "$work/$1.agents")"
}
# event NAME EPOCH KEY: a member of the epoch's line in metrics.jsonl
event() { sed -n "s/^{\"event\":\"epoch\",\"epoch\":$2,.*\"$3\":\"\{0,1\}\([^\",}]*\).*/\1/p" "$work/$1/metrics.jsonl"; }

run_job 2 plain "${common[@]}"
hash=$(summary_of plain weights_hash)
[ ${#hash} = 32 ] || fail "the undisturbed run has no weights_hash"

# kill -9 of a rank, at a fixed size; a pause redoes nothing.
# Slower steps: a pause that a loaded machine delivers after the last step would be none.
slow=debug.slow_data=0:150 history kill "a,b:2 kill 3 at 5; a,b:2 pause at 9; a,b:2 end" elastic.every=1
says kill 1 "^resume   step [0-9]+ from memory \(4 ranks of epoch 0 -> 4 ranks, 0 B moved, .* s\)$"
paused=$(sed -n 's/^paused at step \([0-9]*\): .*/\1/p' "$work/kill.e1.r0.out")
says kill 2 "^resume   step ${paused:-none} from memory \(4 ranks of epoch 1 -> 4 ranks"
same kill
[ "$(event kill 2 redone_steps) $(event kill 2 source) $(event kill 2 step)" = "0 memory $paused" ] || fail "kill: $(cat "$work/kill/metrics.jsonl")"
[ "$(event kill 1 ranks_before) $(event kill 1 ranks)" = "4 4" ] || fail "kill: sizes of epoch 1: $(cat "$work/kill/metrics.jsonl")"
[ -d "$work/kill/previous-1" ] && fail "kill: epochs have not shared the run folder"

# 4 -> 3 -> 4 -> 3 -> 4 -> 1 ranks, each time without a node.
# Some read with several threads.
for cell in 0:none 1:cpu 2:none 3:nvme 3:none; do
  name=sizes-${cell/:/-}
  keys=(zero.stage=${cell%:*} elastic.every=1)
  case $cell in 1:cpu | 3:n*) keys+=(device.threads=3) ;; esac
  [ "${cell#*:}" = none ] || keys+=(offload.optimizer.device=${cell#*:} offload.optimizer.tile=16384 "offload.optimizer.paths=$work/disk")
  history $name "a,b,c,d:1 lose b at 3; a,c,d:1 lose a at 6; c,d,e,f:1 lose f at 9; c,d,e:1 kill 0 at 11; c,d:2 pause at 13; c:1 end" "${keys[@]}"
  for epoch in 1 2 3 4 5; do says $name $epoch "^resume   step [0-9]+ from memory"; done
  says $name 1 "4 ranks of epoch 0 -> 3 ranks"
  says $name 5 "4 ranks of epoch 4 -> 1 rank,"
  same $name
done

# A broken copy: the other one is used. Both broken: the older step. Two buddies lost together: the disk, or step 0.
# Slower steps, and events two steps before the next keep: on a busy machine a later step could be kept before a byte is flipped.
slow=debug.slow_data=0:100
history flip "a,b:1 flip 0 at 7; a,b:1 end" elastic.every=3
says flip 1 "the kept share of rank 0, step [0-9]+, does not verify on node a"
step=$(sed -n 's/^flipped step //p' "$work/flip.agents")
says flip 1 "^resume   step ${step:-none} from memory"
same flip
history flips "a,b:1 flipall 1 at 7; a,b:1 end" elastic.every=3 device.threads=3
step=$(sed -n 's/^flipped step //p' "$work/flips.agents" | head -1)
says flips 1 "does not verify on node [ab], and there is no other copy"
says flips 1 "^resume   step $((${step:-0} - 3)) from memory"
same flips
history head "a,b:1 fliphead 0 at 7; a,b:1 end" elastic.every=3
says head 1 "^resume   the kept file e0.r0.own[01] of node a is not used: its header does not verify"
step=$(sed -n 's/^flipped step //p' "$work/head.agents")
says head 1 "^resume   step ${step:-none} from memory"
same head
# All copies of all steps: the disk.
history disk "a,b:1 flipsteps 1 at 13; a,b:1 end" elastic.every=3 checkpoint.dir="$work/disk.ckpt" checkpoint.every=5
says disk 1 "does not verify on node [ab], and there is no other copy"
says disk 1 "^checkpoint: step [0-9]+ resumed from"
same disk
makes_room disk
# A rank tells its steps every 200 ms: an event may come 4 steps late, and must come before the last step.
slow=debug.slow_data=0:40
[ "$(event disk 1 source)" = disk ] || fail "disk: $(cat "$work/disk/metrics.jsonl")"
history buddies "a,b,c,d:1 kill 0 at 10; a,b:1 end" elastic.every=1 checkpoint.dir="$work/buddies.ckpt" checkpoint.every=3
says buddies 1 "memory is not used: step [0-9]+ of epoch 0 lacks the share"
says buddies 1 "^checkpoint: step [0-9]+ resumed from"
same buddies
[ "$(event buddies 1 source)" = disk ] || fail "buddies: $(cat "$work/buddies/metrics.jsonl")"
history nothing "a,b,c,d:1 kill 0 at 7; a,b:1 end" elastic.every=1
says nothing 1 "memory is not used: step [0-9]+ of epoch 0 lacks the share"
says nothing 1 "^resume   there is no checkpoint: training begins again at step 0$"
same nothing
makes_room nothing
[ "$(event nothing 1 source) $(event nothing 1 step)" = "new 0" ] || fail "nothing: $(cat "$work/nothing/metrics.jsonl")"
# Without a checkpoint: new weights, and nothing that was read of the broken step. Settings that the job keeps do not hinder it.
kept=("${common[@]}")
common=(train.steps=16 optimizer.clip=0.5)
run_job 2 unset "${common[@]}"
slow=debug.slow_data=0:150 history new "a,b:1 flipsteps 1 at 13; a,b:1 end" elastic.every=5
common=("${kept[@]}")
says new 1 "does not verify on node [ab], and there is no other copy"
says new 1 "^resume   there is no checkpoint: training begins again at step 0$"
[ "$(summary_of new weights_hash)" = "$(summary_of unset weights_hash)" ] || fail "new: other weights than those of a new run"

# The lock of the epoch before does not delay the next one; with memory no checkpoint is opened.
history saves "a,b:1 kill 1 at 9; a,b:1 end" elastic.every=1 checkpoint.dir="$work/saves.ckpt" checkpoint.every=7
says saves 1 "^resume   step [0-9]+ from memory"
! grep -q "saves there" "$work"/saves.e1.r*.out || fail "saves: waited for the lock of its own job"
same saves

# A disk that became full during the job ends no later epoch: it has room for two checkpoints of 1.4 MiB, not for a third one.
mkdir "$work/small"
within=(unshare -m --propagation private sh -c 'mount -t tmpfs -o size=3m tmpfs "$0" && exec "$@"' "$work/small")
if "${within[@]}" true 2>/dev/null; then
  history full "a,b:1 kill 1 at 10; a,b:1 end" elastic.every=1 checkpoint.dir="$work/small" checkpoint.every=3
  grep -qhE "^checkpoint: step [0-9]+ failed: .*free" "$work"/full.e?.r0.out || fail "full: no save failed: $(cat "$work"/full.e?.r0.out)"
  says full 1 "^resume   step [0-9]+ from memory"
  same full
else
  echo "part skipped: no file system can be mounted here"
fi

[ $failures = 0 ] && echo "recovery: all as promised"
exit $((failures > 0))
