#!/usr/bin/env bash
# The whole way of configs/README.md for one model of each family: a Hugging Face folder in, lines of JSON, training on 2 ranks with
# validation, export to a folder, a continued text or a filled mask, and the same validation loss after the folder is loaded again.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
. "$(dirname "$0")/../support/sample_command.sh" || exit 1
export XDG_CACHE_HOME=$work/cache
fixtures=$DS_SOURCE/tests/golden/fixtures/tokenizers

for name in gpt2 bert_uncased unigram; do
  mkdir "$work/$name"
  cp "$fixtures/$name.json" "$work/$name/tokenizer.json"
done
echo '{"mask_token": "[MASK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}' >"$work/bert_uncased/tokenizer_config.json"
echo '{"eos_token": "</s>"}' >"$work/unigram/tokenizer_config.json"
echo '{"eos_token": "<|end|>", "pad_token": {"content": "<pad>"}}' >"$work/gpt2/tokenizer_config.json"
# Lines of the project's pages, each with the one before it: the same text for every family.
cat "$DS_SOURCE"/README.md "$DS_SOURCE"/docs/data.md "$DS_SOURCE"/docs/checkpoint.md |
  awk '{ gsub(/[\\"]/, "\\\\&"); gsub(/\t/, " ") }
    length > 40 { if (last != "") print "{\"text\": \"" $0 "\", \"source\": \"" last "\", \"target\": \"" substr($0, 1, 60) "\"}"; last = $0 }' >"$work/lines.jsonl"
cat >"$work/train.toml" <<'END'
[data]
train = "lines.jsonl"
format = "jsonl"
validation = 0.2
seq_len = 48
[batch]
micro = 4
[optimizer]
lr = 5e-3
[train]
steps = 30
validate_every = 15
validate_batches = 4
[log]
every = 1
[device]
threads = 1
END

# job NAME RANKS KEYS...: trains with `dslaunch`, as a user does; the checkpoint is in $work/NAME-saved
job() {
  "$dslaunch" -n "$2" "$work/train.toml" log.dir="$work/$1" checkpoint.dir="$work/$1-saved" "${@:3}" >"$work/$1.out" 2>&1 </dev/null ||
    fail "$1: exit $?: $(cat "$work/$1.out")"
}
export_to() { # NAME FOLDER
  "$dslaunch" export "$work/$1-saved" "$2" >"$work/out" 2>&1 || fail "export of $1: $(cat "$work/out")"
}
# losses KEY NAME: the values of validation_loss or loss in order
losses() { sed -n "s/.*\"$1\":\([^,]*\),.*/\1/p" "$work/$2/metrics.jsonl"; }

# whole_way FAMILY TOKENIZER PROMPT KEYS...: KEYS are those that a job with the folder still needs
whole_way() {
  local family=$1 tokenizer=$work/$2 prompt=$3 sizes=(model.arch="$1" model.layers=2 model.hidden=32 model.heads=2 model.ffn=64)
  shift 3
  job "$family-new" 1 "${sizes[@]}" data.tokenizer="$tokenizer" train.steps=3 train.validate_every=0 "$@"
  export_to "$family-new" "$work/$family-first"

  job "$family" 2 model.from="$work/$family-first" zero.stage=2 "$@"
  losses validation_loss "$family" >"$work/losses"
  local first last
  first=$(losses loss "$family" | head -n 1) last=$(tail -n 1 "$work/losses")
  echo "$family: loss $first, validation losses $(echo $(cat "$work/losses"))"
  [ "$(wc -l <"$work/losses")" = 2 ] && awk -v first="$first" -v last="$last" 'BEGIN { exit !(last > 0 && last < first - 0.3) }' ||
    fail "$family: loss $first, validation losses $(cat "$work/losses")"

  export_to "$family" "$work/$family-folder"
  cmp "$work/$family-folder/tokenizer.json" "$tokenizer/tokenizer.json" || fail "$family: export changed the tokenizer"
  local from length=(--length 8)
  [ "$family" = roberta ] && length=(--candidates 2)
  for from in "$family-saved" "$family-folder"; do
    sample "$work/$from" --prompt "$prompt" "${length[@]}" >"$work/$from.text"
  done
  [ -s "$work/$family-folder.text" ] && cmp "$work/$family-saved.text" "$work/$family-folder.text" ||
    fail "$family: samples: $(cat "$work/$family-saved.text" "$work/$family-folder.text")"
  sed "s/^/  /" "$work/$family-folder.text"

  job "$family-again" 2 model.from="$work/$family-folder" train.steps=1 train.validate_every=0 optimizer.lr=0 "$@"
  [ -n "$last" ] && [ "$(losses validation_loss "$family-again")" = "$last" ] ||
    fail "$family: validation loss $last, after the folder was loaded again $(losses validation_loss "$family-again")"
}

whole_way gpt2 gpt2 "The job"
whole_way llama gpt2 "The job"
whole_way qwen2 gpt2 "The job" data.task=response 'data.fields=["source", "target"]'
# The folder says what ends an answer, by the number that its tokenizer has for it.
grep -q '"eos_token_id": 0,' "$work/qwen2-folder/config.json" || fail "qwen2: no end in $(cat "$work/qwen2-folder/config.json")"
whole_way roberta bert_uncased "the [MASK] of a job"
grep -q '^ *[0-9]*: ' "$work/roberta-folder.text" || fail "roberta: no candidates: $(cat "$work/roberta-folder.text")"
whole_way t5 unigram "The job" data.encoder_len=96

[ $failures = 0 ] && echo "the whole way: all families arrive"
exit $((failures > 0))
