#!/usr/bin/env bash
# States in files that are saved slowly while training continues: each checkpoint has the states of its own step, whenever updates
# are made; steps are not delayed; and a slot damaged on the disk fails only the save.
. "$(dirname "$0")/../../support/train_ranks.sh" || exit 1
. "$(dirname "$0")/../../support/tile_places.sh" || exit 1
disk=$work/disk
mkdir "$disk"
nvme=(offload.optimizer.device=nvme "offload.optimizer.paths=$disk" offload.optimizer.tile=16384)
steps=50
common=(train.steps=$steps determinism.virtual_ranks=2 determinism.order=step)

hash_of() { summary_of "$1" weights_hash; }
same() { [ "$(hash_of "$1")" = "$hash" ] || fail "$1: other weights than in one go: $(tail -n 3 "$work/$1.0.out")"; }
# saved NAME: prints the steps of the checkpoints written while training continued, in order
saved() { sed -n 's/^checkpoint: step \([0-9]*\) saved .*/\1/p' "$work/$1.0.out" | grep -vx $steps; }

run_job 1 plain "${common[@]}"
hash=$(hash_of plain)
[ ${#hash} = 32 ] || fail "no weights_hash"

# Saving a rank's 0.8 MiB takes at least 0.2 s, so many steps run during it.
for form in "after 1 auto none" "forward 0 threads none" "backward 3 auto nvme"; do
  read -r update stage engine param <<<"$form"
  keys=("${nvme[@]}" offload.optimizer.update="$update" zero.stage="$stage" offload.io.engine="$engine" offload.param.device="$param"
    "${common[@]}")
  run_job 2 "$update" "${keys[@]}" "checkpoint.dir=$work/saves-$update" checkpoint.every=1 checkpoint.keep=0 checkpoint.rate=4M
  same "$update"
  mapfile -t made < <(saved "$update")
  [ ${#made[@]} -ge 1 ] || { fail "$update: no save beside the training: $(cat "$work/$update.0.out")"; continue; }
  echo "$update: saves of steps ${made[*]}"
  grep -q "^checkpoint: .* failed" "$work/$update.0.out" && fail "$update: $(grep "^checkpoint: .* failed" "$work/$update.0.out")"
  # The first save finds tiles in their first slots, a later one in slots to which they moved.
  [ "$update" = after ] && try=("${made[0]}") || try=()
  for step in $(printf '%s\n' "${try[@]}" "${made[-1]}" | uniq); do
    run_job 2 "$update-$step" "${keys[@]}" "checkpoint.resume=$work/saves-$update/$(printf 'step-%08d' "$step")"
    grep -q "^checkpoint: step $step resumed" "$work/$update-$step.0.out" || fail "$update: did not resume at step $step"
    same "$update-$step"
  done
done

# After the first save began, its tiles are in their first slots and training's tiles behind them. The last tile is changed before
# it is read; the rank stands still meanwhile, so that it neither reads that tile nor ends.
steps=200
common+=(train.steps=$steps)
run_job 1 long "${common[@]}"
hash=$(hash_of long)
start_job 1 spoiled "${nvme[@]}" "${common[@]}" "checkpoint.dir=$work/saves-spoiled" checkpoint.every=1 checkpoint.rate=1M
runs_steps() {
  kill -STOP "${pids[0]}" 2>/dev/null
  [ "$(cat "$work/spoiled/metrics.jsonl" 2>/dev/null | wc -l)" -ge 2 ] && return
  kill -CONT "${pids[0]}" 2>/dev/null
  return 1
}
wait_for 60 runs_steps || fail "spoiled: no step"
file=$(nameless_files "${pids[0]}" "$disk" | head -n 1)
spoil_bytes "$file" $(($(stat -Lc %s "$file") / 2 - 8192)) || fail "spoiled: no byte could be changed"
kill -CONT "${pids[0]}"
end_job spoiled
grep -q "^checkpoint: step 1 failed: reading .*(rank 0, offloaded state) at byte .*checksum mismatch" "$work/spoiled.0.out" ||
  fail "spoiled: nobody noticed: $(grep ^checkpoint "$work/spoiled.0.out")"
[ ! -e "$work/saves-spoiled/step-00000001" ] || fail "spoiled: step 1 looks complete"
grep -q "^checkpoint: step $steps saved" "$work/spoiled.0.out" || fail "spoiled: no save after it"
same spoiled

[ $failures = 0 ] && echo "ok"
exit $((failures > 0))
