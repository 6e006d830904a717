#!/usr/bin/env bash
# Trains every configs/*.toml made from a DeepSpeed configuration, the one for NVMe and the small Llama at a small size on two ranks:
# the loss falls, and no step is skipped once the loss scale fits.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
mkdir "$work/nvme" "$work/bert" "$work/t5"
cp "$DS_SOURCE/tests/golden/fixtures/tokenizers/bert_uncased.json" "$work/bert/tokenizer.json"
cp "$DS_SOURCE/tests/golden/fixtures/tokenizers/unigram.json" "$work/t5/tokenizer.json"
echo '{"mask_token": "[MASK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}' >"$work/bert/tokenizer_config.json"
echo '{"eos_token": "</s>"}' >"$work/t5/tokenizer_config.json"
"$DS_SOURCE/scripts/make_jsonl.sh" "$work/text" "$work" || fail "make_jsonl.sh"
export XDG_CACHE_HOME=$work/cache

# ready NAME KEYS...: trains with the file's settings except sizes, data and learning rate
ready() {
  cp "$DS_SOURCE/configs/$1.toml" "$work/train.toml"
  run_job 2 "$1" model.layers=2 model.hidden=64 model.heads=2 model.ffn=128 model.vocab=256 data.train="$work/text" \
    data.validation=0 data.seq_len=32 batch.micro=2 train.steps=40 train.validate_every=0 log.every=1 optimizer.lr=3e-3 \
    device.threads=1 "${@:2}"
  local first last
  first=$(sed -n '1s/.*"loss":\([^,]*\),.*/\1/p' "$work/$1/metrics.jsonl")
  last=$(summary_of "$1" train_loss)
  printf '%-22s loss %s -> %s  skipped %s  final scale %s\n' "$1" "$first" "$last" "$(summary_of "$1" skipped_steps)" \
    "$(summary_of "$1" loss_scale)"
  # The text is this project's own, so the losses change with it.
  awk -v first="$first" -v last="$last" 'BEGIN { exit !(first > 5 && last < first - 0.5) }' ||
    fail "$1: the loss went from '$first' to '$last'"
}

ready bert_zero1_offload model.vocab=512 data.tokenizer="$work/bert"
ready t5_zero2_bf16 model.vocab=512 data.tokenizer="$work/t5" data.train="$work/pairs.jsonl" data.encoder_len=40
ready basic_zero2_fp16 batch.accum=2
ready zero2_fp16_auto schedule.warmup=5
ready zero3_offload_auto schedule.warmup=5
ready zero_infinity_nvme schedule.warmup=5 offload.optimizer.paths="[\"$work/nvme\"]"

# Llama has a separate head and grouped keys.
ready llama_tiny model.heads=4 model.kv_heads=2 zero.stage=3 schedule.warmup=5

[ -z "$(ls -A "$work/nvme")" ] || fail "files are left on the drives: $(ls "$work/nvme")"
# A new file of this kind must be added above.
for file in "$DS_SOURCE"/configs/*zero*.toml; do
  grep -q "^ready $(basename "$file" .toml)\b" "$0" || fail "$file is not run by this test"
done
[ $failures = 0 ] && echo "ready configs: all train"
exit $((failures > 0))
