#!/usr/bin/env bash
# The weights have the same bits at every world size, for each order, with any number of threads.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1

# One job per line of the table. All jobs of a group must agree after the same number of steps.
group_hash=
steps_due=20
begin_group() { group_hash=; }
# job WORLD NAME KEYS...: runs a job and compares its hash with the group's
job() {
  run_job "$@" train.steps=$steps_due
  local hash steps verdict=same
  hash=$(summary_of "$2" weights_hash)
  steps=$(summary_of "$2" steps)
  [ ${#hash} = 32 ] || fail "$2: no weights_hash"
  [ "$steps" = $steps_due ] || fail "$2: $steps steps"
  if [ -z "$group_hash" ]; then
    group_hash=$hash
    verdict=first
  elif [ "$hash" != "$group_hash" ]; then
    verdict=DIFFERS
    fail "$2: the weights differ from the first of its group"
  fi
  printf '%-34s world %d  %s  %s  loss %s\n' "$2" "$1" "$hash" $verdict "$(summary_of "$2" train_loss)"
}

seen=()
for dtype in fp32 bf16; do
  for order in boundary step; do
    begin_group
    for world in 1 2 3 4; do
      job $world "$dtype-$order-world$world" precision.dtype=$dtype determinism.order=$order \
        determinism.virtual_ranks=4 batch.accum=2
    done
    seen+=("$group_hash")
  done

  begin_group
  for threads in 1 2 8 16; do
    job 1 "$dtype-threads$threads" precision.dtype=$dtype device.threads=$threads batch.micro=5 data.seq_len=77
  done
  seen+=("$group_hash")

  # Weight gradients sum over 16384 rows, which oneDNN's own threads would cut by the number of threads. The first weights show it;
  # the steps are large, so few are run.
  begin_group
  steps_due=3
  for threads in 1 2 8 16; do
    job 1 "$dtype-wide-threads$threads" precision.dtype=$dtype device.threads=$threads model.layers=1 \
      model.hidden=192 model.heads=3 batch.micro=128 data.seq_len=128
  done
  steps_due=20
  seen+=("$group_hash")
done

# Dropout depends on sample numbers, not on where and how often an op runs.
begin_group
for world in 1 2 3 4; do
  job $world "dropout-world$world" model.dropout=0.2 determinism.virtual_ranks=4 batch.accum=2 device.threads=$world
done
for policy in selective block; do
  job 2 "dropout-$policy" model.dropout=0.2 determinism.virtual_ranks=4 batch.accum=2 recompute.policy=$policy
done
dropout=$group_hash

# Each optimizer, with whole and with sliced states.
optimizers=()
for type in adamw adam_l2 sgd lion; do
  rate=3e-3
  [ $type = lion ] && rate=3e-4
  [ $type = sgd ] && rate=3e-1
  begin_group
  for world in 1 3; do
    job $world "$type-world$world" optimizer.type=$type optimizer.lr=$rate precision.dtype=bf16 \
      determinism.virtual_ranks=4 zero.stage=$world determinism.order=step
  done
  optimizers+=("$group_hash")
done
[ "$(printf '%s\n' "${optimizers[@]}" | sort -u | wc -l)" = 4 ] || fail "optimizers agree: ${optimizers[*]}"

# A split master gives the weights of a whole one.
group_hash=${optimizers[0]}
for world in 1 3; do
  job $world "split16-world$world" precision.master=split16 precision.dtype=bf16 \
    determinism.virtual_ranks=4 zero.stage=$world determinism.order=step
done

# The check can fail: changing one number of the arithmetic list changes the weights.
run_job 1 other-seed determinism.virtual_ranks=4 batch.accum=2 determinism.order=boundary train.seed=2
other=$(summary_of other-seed weights_hash)
printf '%-34s world 1  %s  another seed\n' other-seed "$other"
[ -n "$other" ] && [ "$other" != "${seen[0]}" ] || fail "another seed gives the same weights"
[ "$dropout" != "${seen[0]}" ] || fail "dropout changes nothing"
[ "${seen[0]}" != "${seen[4]}" ] || fail "bf16 gives the weights of fp32"

[ $failures = 0 ] && echo "equal bits: all as promised"
exit $((failures > 0))
