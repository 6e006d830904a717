#!/usr/bin/env bash
# Data as people have them: JSONL with a tokenizer, for every task, packed before or at the start, by any number of ranks and threads,
# also after a kill; and what is wrong with files is said with its place.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
command -v python3 >/dev/null || { echo "skipped: needs python3"; exit 77; }
cd "$work" || exit 1 # overrides name files from here
dslaunch=$DS_BIN/dslaunch
export XDG_CACHE_HOME=$work/cache
fixtures=$DS_SOURCE/tests/golden/fixtures/tokenizers
tokens=$work/cache/dslaunch/tokens

for name in gpt2 bert_uncased unigram; do
  mkdir "$work/$name"
  cp "$fixtures/$name.json" "$work/$name/tokenizer.json"
done
echo '{"mask_token": "[MASK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}' >"$work/bert_uncased/tokenizer_config.json"
echo '{"eos_token": "</s>"}' >"$work/unigram/tokenizer_config.json"
python3 - "$work" "$DS_SOURCE/README.md" <<'END'
import gzip, json, random, sys
work, text = sys.argv[1], open(sys.argv[2]).read().split()
draw = random.Random(7)
words = lambda most: " ".join(draw.choices(text, k=draw.randint(0, most)))
lines = [json.dumps({"text": words(120), "prompt": "Q: " + words(5), "response": words(8) + " x", "source": "q " + words(9), "target": "a " + words(5)})
         for _ in range(400)]
open(work + "/a.jsonl", "w").write("\n".join(lines) + "\n")
gzip.open(work + "/b.jsonl.gz", "wt").write("\n".join(lines) + "\n")
open(work + "/large.jsonl", "w").write("\n".join(lines * 30) + "\n")
END
cat >"$work/train.toml" <<END
[model]
preset = "gpt-tiny"
[data]
train = "a.jsonl"
format = "jsonl"
tokenizer = "gpt2"
validation = 0
seq_len = 64
[batch]
micro = 2
accum = 1
[determinism]
virtual_ranks = 6
[train]
steps = 6
[device]
threads = 1
END

# The same bits at any world size; the cache is made once.
hash_of() { summary_of "$1" weights_hash; }
for task in text response; do
  for ranks in 1 2 3; do
    run_job $ranks "$task$ranks" data.task=$task
    [ -n "$(hash_of "$task$ranks")" ] && [ "$(hash_of "$task$ranks")" = "$(hash_of "${task}1")" ] || fail "$task on $ranks ranks: $(hash_of "$task$ranks")"
  done
done
[ "$(ls "$tokens" | wc -l)" = 4 ] || fail "the cache holds $(ls "$tokens")"
before=$(stat -c '%i %Y' "$tokens"/*.bin)
run_job 2 again data.task=text data.rows=whole
[ "$(stat -c '%i %Y' "$tokens"/*.bin)" = "$before" ] || fail "a second start made the tokens again"

# Packed before: equal tokens, so equal weights; compressed lines too; any number of threads; after kills.
pack() { "$dslaunch" data pack "$work/train.toml" "$@" >"$work/out" 2>&1 || fail "data pack $*: $(cat "$work/out")"; }
pack --out "$work/packed"
run_job 2 packed data.format=tokens data.train="$work/packed.bin" model.vocab=420 data.tokenizer=gpt2
[ "$(hash_of packed)" = "$(hash_of text1)" ] || fail "packed tokens train to other weights"
pack data.train=b.jsonl.gz --out "$work/gz" --threads 3
cmp "$work/packed.bin" "$work/gz.bin" && cmp "$work/packed.idx" "$work/gz.idx" || fail "gzip gives other tokens"
pack data.train=large.jsonl data.cache="$work/other" --out "$work/large"
for delay in 0.05 0.15 0.3; do
  "$dslaunch" data pack "$work/train.toml" data.train=large.jsonl data.cache="$work/killed" --out "$work/killed-out" >/dev/null 2>&1 &
  sleep $delay
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
done
pack data.train=large.jsonl data.cache="$work/killed" --out "$work/killed-out"
cmp "$work/large.bin" "$work/killed-out.bin" && cmp "$work/large.idx" "$work/killed-out.idx" || fail "other tokens after kills"
[ -z "$(ls "$work/killed" | grep -v '^[0-9a-f]*\.\(bin\|idx\)$')" ] || fail "kills leave $(ls "$work/killed")"

# An epoch, in steps of 12 whole rows.
rows=$("$dslaunch" "$work/train.toml" data.rows=whole train.steps=1 log.dir="$work/rows" 2>&1 | sed -n 's/.*data     \([0-9]*\) rows.*/\1/p')
sed '/^steps/d' "$work/train.toml" >"$work/epoch.toml"
"$dslaunch" "$work/epoch.toml" data.rows=whole train.epochs=0.5 log.dir="$work/epoch" >"$work/out" 2>&1 || fail "epochs: $(cat "$work/out")"
[ "$(summary_of epoch steps)" = $(((rows + 23) / 24)) ] || fail "half of $rows rows took $(summary_of epoch steps) steps"

# Nothing is overwritten but an older pair, and words of another task are not passed over.
refused() { "$dslaunch" data "$@" >"$work/out" 2>&1 && fail "data $* is accepted"; grep -qF -- "$said" "$work/out" || fail "data $*: $(cat "$work/out")"; }
echo precious >"$work/mine.bin"
said='mine.bin exists and is not of a pair of token files' refused pack "$work/train.toml" --out "$work/mine"
[ "$(cat "$work/mine.bin")" = precious ] || fail "data pack overwrote mine.bin"
said='--step does not apply to data pack' refused pack "$work/train.toml" --out "$work/x" --step 3
said='--vocab does not apply to data show' refused show "$work/train.toml" --vocab 300
said='--step must be an integer from 1 to 1099511627776' refused show "$work/train.toml" --step 9223372036854775807

# What a step reads is what was written: tokens of documents, targets of answers alone.
"$dslaunch" data show "$work/train.toml" data.task=response --step 2 --json >"$work/shown.json" || fail "data show"
"$dslaunch" data pack "$work/train.toml" data.task=response --out "$work/answers" >/dev/null || fail "data pack of answers"
python3 - "$work" <<'END' || fail "data show shows other tokens"
import json, struct, sys
work = sys.argv[1]
index = open(work + "/answers.idx", "rb").read()
sequences, documents = struct.unpack("<QQ", index[18:34])
lengths = struct.unpack(f"<{sequences}i", index[34:34 + 4 * sequences])
modes = index[34 + 12 * sequences + 8 * documents:]
assert len(modes) == sequences and set(modes) == {0, 1} and sequences == 2 * (documents - 1) == 800
data = open(work + "/answers.bin", "rb").read()
all = struct.unpack(f"<{len(data) // 2}H", data)
written, at = [], 0
for i in range(0, sequences, 2):
    whole = all[at:at + lengths[i] + lengths[i + 1]]
    at += len(whole)
    wanted = [-1 if k + 1 < lengths[i] or k + 1 >= len(whole) else whole[k + 1] for k in range(len(whole))]
    written.append((whole, wanted))
shown = json.load(open(work + "/shown.json"))
assert shown["step"] == 2 and len(shown["samples"]) == 12
seen = 0
for sample in shown["samples"]:
    row, targets, documents = sample["tokens"], sample["targets"], sample["documents"]
    for d in sorted(set(documents) - {-1}):
        where = [i for i, n in enumerate(documents) if n == d]
        tokens, wanted = tuple(row[i] for i in where), [targets[i] for i in where]
        assert [sample["positions"][i] for i in where] == list(range(len(where)))
        # Without its last token, which predicts nothing; a long one is cut.
        assert any(w[:len(tokens)] == tokens and t[:len(tokens)] == wanted for w, t in written), (tokens, wanted)
        seen += 1
assert seen >= 12
END

# The tasks of encoders.
run_job 2 masked model.preset=bert-base-uncased model.layers=2 model.hidden=32 model.heads=2 model.ffn=64 data.tokenizer=bert_uncased train.steps=30 optimizer.lr=0.01 log.every=1
run_job 2 pairs model.preset=t5-small model.layers=2 model.decoder_layers=2 model.hidden=32 model.heads=2 model.head_size=16 model.ffn=64 data.tokenizer=unigram data.encoder_len=64 data.seq_len=32 train.steps=30 optimizer.lr=0.01 log.every=1
for name in masked pairs; do
  first=$(sed -n '1s/.*"loss":\([^,]*\),.*/\1/p' "$work/$name/metrics.jsonl") last=$(summary_of $name train_loss)
  echo "$name: loss $first -> $last"
  awk -v first="$first" -v last="$last" 'BEGIN { exit !(last < first - 0.5) }' || fail "$name: the loss went from '$first' to '$last'"
done

# Conversations: an own template; only answers are learned, and no stranger's template is guessed.
printf '%s\n' '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]}' \
  '{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}, {"role": "user", "content": "C"}, {"role": "assistant", "content": "DE"}]}' >chat.jsonl
talk=(data.train=chat.jsonl data.task=chat data.chat_template=own 'data.chat_system="[{content}]"' 'data.chat_user=<{content}>' 'data.chat_assistant=({content})' batch.micro=1 determinism.virtual_ranks=1)
"$dslaunch" data show train.toml "${talk[@]}" --json >"$work/chat.json" 2>"$work/out" || fail "data show of a conversation: $(cat "$work/out")"
python3 - "$work" <<'END' || fail "a conversation is shown as $(cat "$work/chat.json")"
import json, sys
work = sys.argv[1]
vocab = {v: k for k, v in json.load(open(work + "/gpt2/tokenizer.json"))["model"]["vocab"].items()}
sample, = json.load(open(work + "/chat.json"))["samples"]
text, learned = "", ""
for i, d in enumerate(sample["documents"]):
    if d >= 0:
        text += vocab[sample["tokens"][i]]
        learned += vocab[sample["targets"][i]] if sample["targets"][i] >= 0 else "."
# The last token of each document predicts nothing and is not there.
assert text == "<Hi>(Hello![S]<A>(B)<C>(DE", text
assert learned.replace(".", "") == "Hello!)B)DE)", learned
END
run_job 2 chat "${talk[@]}" determinism.virtual_ranks=2
mkdir strange
cp gpt2/tokenizer.json strange/
echo '{"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"}' >strange/tokenizer_config.json

# The whole way: a text in, a folder out, whose tokenizer came along; questions by a template.
run_job 2 whole train.steps=10 checkpoint.dir="$work/saved"
"$dslaunch" export "$work/saved" "$work/folder" >"$work/out" 2>&1 && grep -q "tokenizer.json" "$work/out" || fail "export: $(cat "$work/out")"
cmp "$work/folder/tokenizer.json" gpt2/tokenizer.json || fail "export changed the tokenizer"
for from in "$work/saved" "$work/folder"; do
  "$dslaunch" sample "$from" --prompt "The job" --length 8 >"$work/out.$(basename "$from")" 2>"$work/err" || fail "sample $from: $(cat "$work/err")"
done
grep -q "^The job" "$work/out.saved" && cmp "$work/out.saved" "$work/out.folder" || fail "samples differ: $(cat "$work/out.saved" "$work/out.folder")"
"$dslaunch" sample "$work/folder" --prompt "Hi" --chat chatml --length 8 >"$work/out" 2>"$work/err" && ! grep -q "im_start" "$work/out" || fail "sample --chat: $(cat "$work/out" "$work/err")"

# refused WHAT KEYS...: the job ends before step 0 with the message
refused() {
  local what=$1 code=0
  shift
  timeout 60 "$dslaunch" "$work/train.toml" "$@" log.dir="$work/refused" >"$work/out" 2>&1 || code=$?
  [ $code = 65 ] && grep -qF "$what" "$work/out" || fail "$*: exit code $code, not '$what': $(cat "$work/out")"
}
printf '{"text": "a"}\n\n{"text": 3}\n' >"$work/bad.jsonl"
refused "bad.jsonl:3:1: the field \"text\" is number, not a text" data.train=bad.jsonl
printf '{"text": "a"}\n{"text": "b"\n' >"$work/bad.jsonl"
refused "bad.jsonl:2:13: it is not JSON" data.train=bad.jsonl
printf '{"txt": "a"}\n' >"$work/bad.jsonl"
refused "bad.jsonl:1:1: there is no field \"text\"" data.train=bad.jsonl
: >"$work/empty.jsonl"
refused "empty.jsonl: it is empty" data.train=empty.jsonl
printf 'not gzip' >"$work/bad.jsonl.gz"
refused "it is not JSON" data.train=bad.jsonl.gz
head -c 2000 "$work/b.jsonl.gz" >"$work/bad.jsonl.gz"
refused "bad.jsonl.gz: it is no whole gzip file" data.train=bad.jsonl.gz
refused "b.jsonl.gz is not plain text, but data.format is" data.format=text data.train=b.jsonl.gz
refused "model.vocab = 100 is less than the 420 tokens of the tokenizer" model.vocab=100
refused "needs a tokenizer with a mask token" model.preset=bert-base-uncased data.tokenizer=bytes
refused "gpt2 has no mask token" model.preset=bert-base-uncased model.layers=1 data.tokenizer=gpt2
refused "does not learn this data.task" data.task=masked
refused "data.fields names 1 fields, this data.task reads 2" data.task=response 'data.fields=["text"]'
refused "unknown chat template" data.train=chat.jsonl data.task=chat data.tokenizer=strange
refused "there is no chat template \"chatmil\"" data.train=chat.jsonl data.task=chat data.chat_template=chatmil
refused "data.chat_user: it has no {content}" data.train=chat.jsonl data.task=chat data.chat_template=own 'data.chat_system="{content}"'
refused "data.weights has 1 numbers, data.train 2 patterns" 'data.train=["a.jsonl", "b.jsonl.gz"]' 'data.weights=[1]'
refused "is no shard of llm.c" data.format=tokens data.train=a.jsonl model.vocab=420
head -c 100 "$work/packed.idx" >"$work/torn.idx"
cp "$work/packed.bin" "$work/torn.bin"
refused "torn.idx: its header promises 400 sequences" data.format=tokens data.train=torn.bin model.vocab=420
[ $failures = 0 ] && echo "data files: all as promised"
exit $((failures > 0))
