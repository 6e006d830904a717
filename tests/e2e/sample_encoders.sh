#!/usr/bin/env bash
# `dslaunch sample` with encoders: BERT and RoBERTa fill masks with transformers' tokens and probabilities; a T5 continues alike from
# its checkpoint, its export and at the end of its training, under every ZeRO stage, offload and with adapters.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
. "$(dirname "$0")/../support/sample_command.sh" || exit 1
command -v python3 >/dev/null || { echo "skipped: needs python3"; exit 77; }
fixtures=$DS_SOURCE/tests/golden/fixtures

for folder in "$fixtures"/masks/*; do
  name=$(basename "$folder") mask=$(cat "$folder/mask.txt")
  for words in "" "--batch=1" "--batch=3" "--threads=1"; do
    sample "$folder" --prompts "$folder/prompts.txt" --mask "$mask" $words >"$work/out"
    cmp -s "$work/out" "$folder/filled.txt" || fail "$name $words: other tokens: $(diff "$work/out" "$folder/filled.txt" | head -4)"
  done
  # A probability is rounded to four digits there, so it differs by up to 6e-5 here.
  sample "$folder" --prompts "$folder/prompts.txt" --mask "$mask" --candidates 3 --json >"$work/json"
  python3 - "$work/json" "$folder/likeliest.json" <<'END' || fail "$name: other candidates: $(cat "$work/json")"
import json, sys
ours, theirs = (json.load(open(path)) for path in sys.argv[1:])
found = [[[[c["token"], c["probability"]] for c in m["candidates"]] for m in prompt["masks"]] for prompt in ours]
same = [[[a[0] == b[0] and abs(a[1] - b[1]) < 6e-5 for a, b in zip(x, y, strict=True)] for x, y in zip(p, q, strict=True)]
        for p, q in zip(found, theirs, strict=True)]
sys.exit(not same or not all(ok for p in same for m in p for ok in m))
END
  # A draw does not depend on what is drawn beside it.
  sample "$folder" --prompts "$folder/prompts.txt" --mask "$mask" --temperature 3 --seed 5 >"$work/drawn"
  sample "$folder" --prompts "$folder/prompts.txt" --mask "$mask" --temperature 3 --seed 5 --batch 1 >"$work/drawn1"
  cmp -s "$work/drawn" "$work/drawn1" || fail "$name: draws depend on the batch"
  cmp -s "$work/drawn" "$folder/filled.txt" && fail "$name: a draw is greedy"
  for dtype in bf16 fp16; do sample "$folder" --tokens "7,$mask" --mask "$mask" --dtype $dtype | grep -q '^7 ' || fail "$name: $dtype"; done
done

# The files of a tokenizer say which token is the mask.
bert=$fixtures/masks/bert mask=$(cat "$fixtures/masks/bert/mask.txt")
filled=$(head -1 "$bert/filled.txt")
refused 64 "do not say which token is the mask" "$bert" --tokens 7
cp -r "$bert" "$work/named"
for ((i = 0; i < mask; i++)); do echo "word$i"; done >"$work/named/vocab.txt"
echo '[MASK]' >>"$work/named/vocab.txt"
[ "$(sample "$work/named" --tokens "$(head -1 "$bert/prompts.txt" | tr ' ' ,)")" = "$filled" ] || fail "vocab.txt names no mask"
rm "$work/named/vocab.txt"
echo '{"mask_token": {"content": "<blank>"}}' >"$work/named/tokenizer_config.json"
echo "{\"added_tokens\": [{\"id\": 3, \"content\": \"[MASK]\"}, {\"id\": $mask, \"content\": \"<blank>\"}]}" >"$work/named/tokenizer.json"
[ "$(sample "$work/named" --tokens "$(head -1 "$bert/prompts.txt" | tr ' ' ,)")" = "$filled" ] || fail "tokenizer.json names no mask"
refused 64 "prompt 1 has no mask" "$bert" --tokens 7 --mask "$mask"
refused 64 "--mask 61 is beyond the model's 61 tokens" "$bert" --tokens 7 --mask 61
refused 64 "--length has no effect" "$bert" --tokens "$mask" --mask "$mask" --length 5
refused 64 "15 tokens are more than the model's 14 positions" "$bert" --tokens "$(seq -s, 1 15)" --mask 1
refused 64 "--mask has no effect" "$fixtures/sample/gpt2" --tokens 7 --mask 3
refused 64 "--candidates has no effect" "$fixtures/sample/t5" --tokens 7 --candidates 3
refused 64 "more than the model's 1048576 positions" "$fixtures/sample/t5" --tokens 7 --length 1048576

# T5: the text of a training's end is that of its checkpoint and of its export.
python3 "$DS_SOURCE/tests/support/make_pairs.py" "$work/text" "$work/pairs" || exit 1
keys=(model.preset=t5-small model.layers=2 model.hidden=32 model.heads=2 model.head_size=16 model.ffn=64 model.vocab=260
  data.format=samples data.train="$work/pairs" data.encoder_len=40 train.steps=30 determinism.virtual_ranks=2
  sample.prompt="35 105 110 99 108" sample.tokens=40 sample.temperature=0.8)
draw=(--tokens 35,105,110,99,108 --length 40 --temperature 0.8 --ignore-end)
sed -i '/^preset/d' "$work/train.toml"
run_job 1 alone "${keys[@]}" "checkpoint.dir=$work/saved"
wanted=$(cat "$work/alone/sample.txt")
[ "$(wc -w <<<"$wanted")" = 45 ] || fail "no 40 tokens at the end: $wanted"
run_job 2 stage1 "${keys[@]}" zero.stage=1
run_job 2 stage3 "${keys[@]}" zero.stage=3
run_job 1 files "${keys[@]}" zero.stage=3 offload.param.device=nvme offload.optimizer.device=nvme \
  "offload.optimizer.paths=[\"$work\"]" offload.optimizer.tile=16384
for name in stage1 stage3 files; do
  [ "$(cat "$work/$name/sample.txt")" = "$wanted" ] || fail "$name: another sample: $(cat "$work/$name/sample.txt")"
done
[ "35 105 110 99 108 $(sample "$work/saved" "${draw[@]}")" = "$wanted" ] || fail "the checkpoint says: $(sample "$work/saved" "${draw[@]}")"
timeout -s KILL 60 "$dslaunch" export "$work/saved" "$work/exported" >/dev/null || fail "export"
[ "35 105 110 99 108 $(sample "$work/exported" "${draw[@]}")" = "$wanted" ] || fail "the export says: $(sample "$work/exported" "${draw[@]}")"
run_job 2 adapters "${keys[@]}" zero.stage=3 lora.rank=4 lora.targets=all-linear optimizer.lr=0.05 "checkpoint.dir=$work/adapted"
adapted=$(cat "$work/adapters/sample.txt")
[ "$adapted" != "$wanted" ] && [ "35 105 110 99 108 $(sample "$work/adapted" "${draw[@]}")" = "$adapted" ] ||
  fail "adapters: the checkpoint says: $(sample "$work/adapted" "${draw[@]}"), the end of training $adapted"

[ $failures = 0 ] && echo "masks are filled as transformers fills them; a T5 continues alike from training, checkpoint and export"
exit $((failures > 0))
