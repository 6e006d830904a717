#!/usr/bin/env bash
# Parquet trains to the bits of the same texts in JSONL, for every task, by any number of ranks and threads, also after a kill; and what
# is wrong with files is said with its place.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
[ -e "$DS_BIN/libdsengine_parquet.so" ] || { echo "skipped: libdsengine_parquet.so was not built (scripts/install_packages.sh parquet fetches Apache Arrow)"; exit 77; }
cd "$work" || exit 1 # overrides name files from here
dslaunch=$DS_BIN/dslaunch
export XDG_CACHE_HOME=$work/cache
cp "$DS_SOURCE"/tests/golden/fixtures/parquet/*.{parquet,jsonl} "$work"
for name in gpt2 bert_uncased unigram; do
  mkdir "$work/$name"
  cp "$DS_SOURCE/tests/golden/fixtures/tokenizers/$name.json" "$work/$name/tokenizer.json"
done
echo '{"mask_token": "[MASK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}' >"$work/bert_uncased/tokenizer_config.json"
echo '{"eos_token": "</s>"}' >"$work/unigram/tokenizer_config.json"
cat >"$work/train.toml" <<END
[model]
preset = "gpt-tiny"
[data]
train = "tasks.parquet"
format = "parquet"
tokenizer = "gpt2"
validation = 0
seq_len = 64
[batch]
micro = 2
accum = 1
[determinism]
virtual_ranks = 6
[train]
steps = 3
[device]
threads = 1
END
lines=(data.format=jsonl data.train=tasks.jsonl)

hash_of() { summary_of "$1" weights_hash; }
# same_weights NAME RANKS KEYS...: two jobs, which learn the same
same_weights() {
  run_job "$2" "$1" "${@:3}"
  run_job 2 "$1-lines" "${@:3}" "${lines[@]}"
  [ -n "$(hash_of "$1")" ] && [ "$(hash_of "$1")" = "$(hash_of "$1-lines")" ] || fail "$1: other weights than from JSONL: $(hash_of "$1"), $(hash_of "$1-lines")"
}
for ranks in 1 3; do same_weights "text$ranks" $ranks data.task=text; done
same_weights response 2 data.task=response
small=(model.layers=2 model.hidden=32 model.heads=2 model.ffn=64)
same_weights masked 2 model.preset=bert-base-uncased "${small[@]}" data.tokenizer=bert_uncased
same_weights pairs 2 model.preset=t5-small "${small[@]}" model.decoder_layers=2 model.head_size=16 data.tokenizer=unigram data.encoder_len=64 data.seq_len=32

# Packed before, by any number of threads, after kills.
pack() { "$dslaunch" data pack "$work/train.toml" "$@" >"$work/out" 2>&1 || fail "data pack $*: $(cat "$work/out")"; }
pack "${lines[@]}" --out "$work/wanted"
for delay in 0.02 0.05; do
  "$dslaunch" data pack "$work/train.toml" data.cache="$work/killed" --out "$work/killed-out" >/dev/null 2>&1 &
  sleep $delay
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
done
pack data.cache="$work/killed" --out "$work/killed-out" --threads 3
cmp "$work/wanted.bin" "$work/killed-out.bin" && cmp "$work/wanted.idx" "$work/killed-out.idx" || fail "other tokens than from JSONL"

# Conversations in both spellings, as from JSONL.
talk=(data.task=chat data.chat_template=own 'data.chat_system="[{content}]"' 'data.chat_user=<{content}>' 'data.chat_assistant=({content})' batch.micro=1 determinism.virtual_ranks=1)
shown() { "$dslaunch" data show "$work/train.toml" "${talk[@]}" "$@" 2>&1; }
wanted=$(shown data.format=jsonl data.train=chat.jsonl)
grep -qF '[S]<Hi>(Hello!' <<<"$wanted" || fail "a conversation is shown as $wanted"
[ "$(shown data.train=chat.parquet)" = "$wanted" ] || fail "a conversation is shown as $(shown data.train=chat.parquet)"
[ "$(shown data.train=sharegpt.parquet 'data.fields=["conversations"]')" = "$wanted" ] || fail "ShareGPT: $(shown data.train=sharegpt.parquet 'data.fields=["conversations"]')"

# refused WHAT KEYS...: the job ends before step 0 with the message
refused() {
  local what=$1 code=0
  shift
  timeout 60 "$dslaunch" "$work/train.toml" "$@" log.dir="$work/refused" >"$work/out" 2>&1 || code=$?
  [ $code = 65 ] && grep -qF "$what" "$work/out" || fail "$*: exit code $code, not '$what': $(cat "$work/out")"
}
types=(data.train=types.parquet)
refused 'types.parquet, row 4 (row group 1): the column "hole" is null, not a text' "${types[@]}" 'data.fields=["hole"]'
refused 'types.parquet: the column "number" is int64, not text' "${types[@]}" 'data.fields=["number"]'
refused 'types.parquet: there is no column "text"' "${types[@]}"
refused 'did you mean "string"? data.fields names what is read' "${types[@]}" 'data.fields=["sting"]'
head -c 3000 types.parquet >cut.parquet
refused 'cut.parquet: it cannot be read: ' data.train=cut.parquet
for part in '"cut.parquet"' '{web = "cut.parquet"}'; do
  env -u MASTER_ADDR -u MASTER_PORT "$dsrunner" --check train.toml data.validation="$part" >out 2>&1 && fail "--check passes over data.validation=$part"
  grep -qF 'cut.parquet: it cannot be read: ' out || fail "--check of data.validation=$part: $(cat out)"
done
: >none.parquet
refused 'none.parquet: it is empty' data.train=none.parquet

# Only the reader links Arrow: the programs run without both.
readelf -d "$DS_BIN/dsrunner" "$DS_BIN/dslaunch" | grep -iE 'NEEDED.*(arrow|parquet)' && fail "a program links Arrow"
mkdir bin
cp "$DS_BIN/dsrunner" "$DS_BIN/dslaunch" bin/
dslaunch=$work/bin/dslaunch
refused 'the reader of Parquet (libdsengine_parquet.so) cannot be opened' data.task=text
grep -qF 'scripts/install_packages.sh parquet' "$work/out" || fail "without the reader: $(cat "$work/out")"
"$dslaunch" "$work/train.toml" "${lines[@]}" log.dir="$work/alone" >"$work/out" 2>&1 || fail "JSONL without the reader: $(cat "$work/out")"
[ $failures = 0 ] && echo "Parquet: all as promised"
exit $((failures > 0))
