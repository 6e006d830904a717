#!/usr/bin/env bash
# Frozen tensors and adapters: the same weights at every world size, stage, offload and recomputation, resumed at another world
# size, in what the plan counts; adapters out and in again as a folder of PEFT; patterns and targets that match nothing.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
disk=$work/disk
mkdir "$disk"
offload=(offload.optimizer.device=nvme "offload.optimizer.paths=$disk" offload.optimizer.tile=4096)
common=(model.preset=llama-tiny determinism.virtual_ranks=4 determinism.order=step)

# same GROUP WORLD NAME KEYS...: the weights must be those of the group's first job
declare -A hashes
same() {
  local group=$1 name=$3
  run_job "${@:2}" "${common[@]}"
  local hash
  hash=$(summary_of "$name" weights_hash)
  [ ${#hash} = 32 ] || { fail "$name: no weights_hash"; return; }
  hashes[$group]=${hashes[$group]:-$hash}
  [ "$hash" = "${hashes[$group]}" ] || fail "$name: other weights than the first of its group"
}
# says FILE TEXT
says() { grep -qF -- "$2" "$1" || fail "$1 does not say '$2': $(tail -5 "$1")"; }

frozen='train.freeze=["embed*","layers.0.*","*.1.mlp*"]'
adapters=(lora.rank=4 lora.alpha=8 lora.dropout=0.1)
for dtype in fp32 bf16; do
  for kind in frozen adapters; do
    keys=("$frozen")
    [ $kind = adapters ] && keys=("${adapters[@]}")
    keys+=(precision.dtype=$dtype)
    same "$kind-$dtype" 1 "$kind-$dtype" "${keys[@]}"
    same "$kind-$dtype" 2 "$kind-$dtype-2" "${keys[@]}" zero.stage=2 recompute.policy=block
    same "$kind-$dtype" 3 "$kind-$dtype-3" "${keys[@]}" zero.stage=3 zero.persist_below=3000 device.threads=2
    same "$kind-$dtype" 2 "$kind-$dtype-files" "${keys[@]}" zero.stage=3 "${offload[@]}" offload.param.device=nvme
    # Only the weights are in files, where saves read the frozen ones beside the training.
    same "$kind-$dtype" 2 "$kind-$dtype-apart" "${keys[@]}" zero.stage=3 offload.optimizer.device=cpu offload.param.device=nvme \
      "offload.param.paths=$disk" "checkpoint.dir=$work/$kind-$dtype-apart-saves" checkpoint.every=4
    same "$kind-$dtype" 1 "$kind-$dtype-joined" "${keys[@]}" \
      "checkpoint.resume=$(ls -d "$work/$kind-$dtype-apart-saves"/step-* | head -1)"
    same "$kind-$dtype" 2 "$kind-$dtype-host" "${keys[@]}" zero.stage=1 offload.optimizer.device=cpu \
      offload.optimizer.update=backward recompute.policy=selective
    # Interrupted: 2 ranks at stage 3 with states in files, then 3 ranks at stage 1.
    saves=("checkpoint.dir=$work/$kind-$dtype-saves" checkpoint.every=4)
    run_job 2 "$kind-$dtype-begin" "${common[@]}" "${keys[@]}" "${saves[@]}" train.steps=8 schedule.total=20 zero.stage=3 \
      "${offload[@]}" offload.param.device=nvme
    same "$kind-$dtype" 3 "$kind-$dtype-resumed" "${keys[@]}" "${saves[@]}" zero.stage=1
    says "$work/$kind-$dtype-resumed.0.out" "step 8 resumed"
  done
done
[ "${hashes[frozen-fp32]}" != "${hashes[adapters-fp32]}" ] || fail "frozen tensors and adapters train the same"
says "$work/frozen-fp32.0.out" "are frozen"
[ -z "$(ls -A "$disk")" ] || fail "left on the disk: $(ls -A "$disk")"

# The plan counts what does not train.
plan() { "$dsrunner" plan "$work/train.toml" "${common[@]}" "$@" >"$work/plan" 2>&1; }
plan "${adapters[@]}" precision.dtype=bf16 || fail "plan: $(cat "$work/plan")"
grep -qE '^trains +[0-9.]+ k of [0-9.]+ [kM] parameters; [0-9.]+ [kM] are frozen' "$work/plan" || fail "the plan: $(head -5 "$work/plan")"
grep -qE '^ +frozen weights +[0-9]+ ' "$work/plan" || fail "no bytes of frozen weights"
moments=$(awk '$1 == "moments" {print $2}' "$work/plan")
plan precision.dtype=bf16
[ "$moments" -lt $(($(awk '$1 == "moments" {print $2}' "$work/plan") / 4)) ] || fail "frozen tensors have moments"

# Out as a folder of PEFT, in again: training begins with the same adapters.
saved=$(ls -d "$work"/adapters-fp32-saves/step-* | tail -1)
"$dsrunner" export "$saved" "$work/peft" --adapter >"$work/export" 2>&1 || fail "export --adapter: $(cat "$work/export")"
says "$work/export" "the adapters of"
"$dsrunner" export "$saved" "$work/merged" >>"$work/export" 2>&1 || fail "export: $(cat "$work/export")"
says "$work/peft/adapter_config.json" '"r": 4'
for name in again more; do
  run_job 2 $name "${common[@]}" "lora.from=$work/peft" zero.stage=3 "checkpoint.dir=$work/$name-saves" train.steps=1 \
    optimizer.lr=0 optimizer.weight_decay=0
  "$dsrunner" export "$work/$name-saves" "$work/$name-peft" --adapter >"$work/export" 2>&1 || fail "$name: $(cat "$work/export")"
  cmp "$work/peft/adapter_model.safetensors" "$work/$name-peft/adapter_model.safetensors" ||
    fail "$name: adapters changed on their way through a folder"
done
"$dsrunner" export "$work/frozen-fp32-saves" "$work/none" --adapter >"$work/export" 2>&1 && fail "adapters of a job without any"
says "$work/export" "has no adapters"

# What is refused, before step 0.
refused() {
  env -u MASTER_ADDR -u MASTER_PORT "$dsrunner" "$work/train.toml" "${common[@]}" "${@:2}" "log.dir=$work/refused" >"$work/refused.out" 2>&1 </dev/null
  [ $? = 65 ] || fail "${*:2}: not refused with 65"
  says "$work/refused.out" "$1"
}
refused 'train.freeze: no tensor of this model matches "q_proj*"' 'train.freeze=q_proj*'
refused 'nothing would train' 'train.freeze=*'
refused 'lora.targets: no linear layer of this model matches "query"' lora.rank=4 lora.targets=query
refused 'lora.rank = 4096 is more than' lora.rank=4096
refused 'model.init' "lora.from=$work/peft" model.init=/nowhere
refused "this model has no such adapter" "lora.from=$work/peft" model.layers=1
printf '{"r": 8, "target_modules": ["q_proj"], "use_dora": true}' >"$work/peft/adapter_config.json"
refused '"use_dora": true; not supported' "lora.from=$work/peft"

[ $failures = 0 ] && echo "frozen tensors and adapters: all as promised"
exit $((failures > 0))
