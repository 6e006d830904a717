#!/usr/bin/env bash
# `dslaunch sample`: greedy tokens are those of transformers' generate(), whatever the batch and the threads; a checkpoint, its
# export and the end of its training continue a prompt alike, under every ZeRO stage and offload; what cannot be is refused.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
. "$(dirname "$0")/../support/sample_command.sh" || exit 1
fixtures=$DS_SOURCE/tests/golden/fixtures/sample

for folder in "$fixtures"/*; do
  name=$(basename "$folder")
  for words in "" "--batch=1" "--batch=2" "--threads=1" "--temperature=0 --dtype=fp32"; do
    sample "$folder" --prompts "$folder/prompts.txt" $words >"$work/out"
    cmp -s "$work/out" "$folder/greedy.txt" || fail "$name $words: other tokens than generate(): $(diff "$work/out" "$folder/greedy.txt" | head -4)"
  done
  sample "$folder" --prompts "$folder/prompts.txt" --end "$(cat "$folder/end.txt")" >"$work/out"
  cmp -s "$work/out" "$folder/ended.txt" || fail "$name --end: $(diff "$work/out" "$folder/ended.txt" | head -4)"
  # A draw does not depend on what is drawn beside it.
  draw=(--temperature 0.9 --top-k 20 --top-p 0.9 --seed 3 --length 30)
  sample "$folder" --prompts "$folder/prompts.txt" "${draw[@]}" >"$work/drawn"
  sample "$folder" --prompts "$folder/prompts.txt" "${draw[@]}" --batch 1 >"$work/drawn1"
  cmp -s "$work/drawn" "$work/drawn1" || fail "$name: draws depend on the batch"
  cut -d' ' -f1-30 "$folder/greedy.txt" | cmp -s - "$work/drawn" && fail "$name: a draw is greedy"
  for dtype in bf16 fp16; do
    [ "$(sample "$folder" --tokens 7 --dtype $dtype --length 8 | wc -w)" = 8 ] || fail "$name: no 8 tokens in $dtype"
  done
done

# generation_config.json decides what ends a text.
cp -r "$fixtures/qwen2" "$work/ends"
printf '{"eos_token_id": [%s]}\n' "$(cat "$fixtures/qwen2/end.txt")" >"$work/ends/generation_config.json"
sample "$work/ends" --prompts "$work/ends/prompts.txt" | cmp -s - "$work/ends/ended.txt" || fail "generation_config.json does not end texts"
sample "$work/ends" --prompts "$work/ends/prompts.txt" --ignore-end | cmp -s - "$work/ends/greedy.txt" || fail "--ignore-end ends texts"
sample "$work/ends" --tokens 7 --length 3 --json | tr -d ' \n' >"$work/out"
[ "$(cat "$work/out")" = "[{\"prompt\":[7],\"tokens\":[$(head -1 "$work/ends/greedy.txt" | cut -d' ' -f1-3 | tr ' ' ,)],\"ended\":false}]" ] ||
  fail "--json: $(cat "$work/out")"

# The text of a training's end, drawn and greedy, is that of its checkpoint and of its export.
keys=(train.steps=60 "sample.prompt=#include" determinism.virtual_ranks=2)
draw=(--prompt '#include' --length 20 --temperature 0.8 --top-k 30)
drawn=(sample.tokens=20 sample.temperature=0.8 sample.top_k=30)
run_job 1 alone "${keys[@]}" "${drawn[@]}" "checkpoint.dir=$work/saved"
wanted=$(cat "$work/alone/sample.txt")
[ ${#wanted} -ge 20 ] || fail "no sample at the end: $wanted"
run_job 2 stage1 "${keys[@]}" "${drawn[@]}" zero.stage=1
run_job 2 stage3 "${keys[@]}" "${drawn[@]}" zero.stage=3
run_job 1 offloaded "${keys[@]}" "${drawn[@]}" zero.stage=3 offload.param.device=cpu offload.optimizer.device=cpu
run_job 1 files "${keys[@]}" "${drawn[@]}" zero.stage=3 offload.param.device=nvme offload.optimizer.device=nvme \
  "offload.optimizer.paths=[\"$work\"]" offload.optimizer.tile=16384
for name in stage1 stage3 offloaded files; do
  [ "$(cat "$work/$name/sample.txt")" = "$wanted" ] || fail "$name: another sample: $(cat "$work/$name/sample.txt")"
done
[ "$(sample "$work/saved" "${draw[@]}")" = "$wanted" ] || fail "the checkpoint says: $(sample "$work/saved" "${draw[@]}")"
# A checkpoint of adapters is sampled from with them.
run_job 2 adapters "${keys[@]}" "${drawn[@]}" zero.stage=3 lora.rank=4 "checkpoint.dir=$work/adapted" train.steps=30 optimizer.lr=0.05
adapted=$(cat "$work/adapters/sample.txt")
[ "$adapted" != "$wanted" ] && [ "$(sample "$work/adapted" "${draw[@]}")" = "$adapted" ] ||
  fail "adapters: the checkpoint says: $(sample "$work/adapted" "${draw[@]}"), the end of training $adapted"
timeout -s KILL 60 "$dslaunch" export "$work/saved" "$work/exported" >/dev/null || fail "export"
[ "$(sample "$work/exported" "${draw[@]}")" = "$wanted" ] || fail "the export says: $(sample "$work/exported" "${draw[@]}")"
printf '#include\nstruct \nint\n' >"$work/prompts"
sample "$work/saved" --prompts "$work/prompts" --length 20 >"$work/three"
sample "$work/exported" --prompts "$work/prompts" --length 20 --batch 2 >"$work/two"
cmp -s "$work/three" "$work/two" || fail "the export's greedy texts: $(diff "$work/three" "$work/two")"
# A sample that is longer than a sequence of training goes on from its last half.
run_job 1 long "${keys[@]}" "${drawn[@]/sample.tokens=20/sample.tokens=100}"
[ "$(head -c 20 "$work/long/sample.txt")" = "$(printf %s "$wanted" | head -c 20)" ] || fail "a longer sample begins otherwise"
[ "$(wc -c <"$work/long/sample.txt")" -ge 108 ] || fail "a sample does not go beyond a sequence"

gpt2=$fixtures/gpt2
refused 64 "takes a checkpoint or a Hugging Face folder" --tokens 1
refused 64 "no prompt is given" "$gpt2"
refused 64 "prompt 2: token 61 is beyond the model's 61 tokens" "$gpt2" --tokens 1 --tokens 2,61
refused 64 "more than the model's 80 positions" "$gpt2" --tokens 1,2,3 --length 78
refused 64 "give --length 77 or less" "$gpt2" --tokens 1,2,3 --length 78
refused 64 "prompt 1 is text" "$gpt2" --prompt Hello
refused 64 "--top-p must be a number above 0 and at most 1" "$gpt2" --tokens 1 --top-p 0
refused 64 "--top-p must be a number above 0 and at most 1" "$gpt2" --tokens 1 --top-p 1.5
refused 64 "--top-k has no effect" "$gpt2" --tokens 1 --top-k 3
refused 64 "--top-k 62 is more than" "$gpt2" --tokens 1 --top-k 62 --temperature 1
refused 64 "'1;2' are not token numbers" "$gpt2" --tokens '1;2'
refused 65 "is empty" "$gpt2" --prompts /dev/null
printf '1 2\n\n3\n' >"$work/holes"
refused 65 "holes, line 2: has no prompt" "$gpt2" --prompts "$work/holes"
refused 65 "$work/nothing" "$work/nothing" --tokens 1
mkdir "$work/adapter" "$work/other"
echo '{}' >"$work/adapter/adapter_config.json"
refused 65 "holds an adapter" "$work/adapter" --tokens 1
echo '{"model_type": "mamba"}' >"$work/other/config.json"
refused 65 "mamba" "$work/other" --tokens 1
# NaN weights: the last bytes of the file, which are bf16.
cp -r "$gpt2" "$work/nan"
size=$(stat -c %s "$work/nan/model.safetensors")
printf '\377\377%.0s' {1..100} | dd of="$work/nan/model.safetensors" bs=1 seek=$((size - 200)) conv=notrunc 2>/dev/null
refused 65 "prompt 1, new token 1: the logit of token" "$work/nan" --tokens 1

[ $failures = 0 ] && echo "samples are those of transformers, of checkpoints and of training"
exit $((failures > 0))
