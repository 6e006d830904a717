#!/usr/bin/env bash
# A tokenizer is learned from texts: equal files for any threads, and for text, lines of JSON and compressed ones; models of each kind
# train with it; what is wrong is said, and leaves no folder.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
command -v python3 >/dev/null || { echo "skipped: needs python3"; exit 77; }
cd "$work" || exit 1 # overrides name files from here
dslaunch=$DS_BIN/dslaunch
export XDG_CACHE_HOME=$work/cache
python3 - "$work" <<'END'
import gzip, json, sys
work = sys.argv[1]
texts = open(work + "/text").read().split("#pragma once")
lines = "".join(json.dumps({"text": t, "other": "zq " * 50}) + "\n" for t in texts)
open(work + "/a.jsonl", "w").write(lines)
gzip.open(work + "/b.jsonl.gz", "wt").write(lines)
for i, text in enumerate(texts):
    open(f"{work}/part{i:03}.txt", "w").write(text)
END

learn() { # OUT, words of the command
  local out=$1
  shift
  "$dslaunch" data train-tokenizer "$@" --out "$out" --vocab 700 >"$work/out" 2>&1 || fail "train-tokenizer $*: $(cat "$work/out")"
}
learn gpt2 a.jsonl
grep -q '^gpt2: 700 tokens, 1 of them special, 443 merges' "$work/out" || fail "train-tokenizer says: $(cat "$work/out")"
[ "$(ls gpt2 | xargs)" = "tokenizer.json tokenizer_config.json" ] || fail "the folder has $(ls gpt2)"
learn threads a.jsonl --threads 5
learn packed b.jsonl.gz --threads 2
learn parts part*.txt --threads 3
for other in threads packed parts; do
  cmp gpt2/tokenizer.json $other/tokenizer.json || fail "$other: another tokenizer.json"
done
learn fields a.jsonl --fields text,other --special '<|x|>,<|y|>'
grep -q '"Ġzq"' fields/tokenizer.json && ! grep -q '"Ġzq"' gpt2/tokenizer.json || fail "--fields does not choose the fields"
grep -q '"<|y|>": 2,' fields/tokenizer.json || fail "--special made no tokens"

# Models of each kind train with it.
sed -i '/^train\|^preset\|^seq_len/d; s/^\[data\]/[data]\ntrain = "a.jsonl"\nformat = "jsonl"\nseq_len = 48/; s/^steps.*/steps = 60/; s/^lr.*/lr = 0.01/' train.toml
small=(model.layers=2 model.hidden=32 model.heads=2 model.ffn=64)
learn bert a.jsonl --kind bert --pattern llama3
learn roberta a.jsonl --kind roberta --pattern o200k
learn t5 a.jsonl --kind t5 --pattern qwen2
run_job 2 of_gpt2 model.preset=gpt-tiny data.tokenizer=gpt2
run_job 2 of_bert model.preset=bert-base-uncased "${small[@]}" data.tokenizer=bert
run_job 2 of_roberta model.preset=roberta-base "${small[@]}" data.tokenizer=roberta
for name in gpt2 bert roberta; do
  first=$(sed -n '1s/.*"loss":\([^,]*\),.*/\1/p' of_$name/metrics.jsonl) last=$(summary_of of_$name train_loss)
  echo "$name: loss $first -> $last"
  awk -v first="$first" -v last="$last" 'BEGIN { exit !(last < first - 0.5) }' || fail "$name: the loss went from '$first' to '$last'"
done

# T5 learns spans of the text: the same bits at any world size and after a resume, and what data show shows joins to the text.
spans=(model.preset=t5-small "${small[@]}" model.decoder_layers=2 model.head_size=16 data.tokenizer=t5 data.task=spans data.encoder_len=64
  data.seq_len=24 determinism.virtual_ranks=6 checkpoint.resume=never)
for ranks in 1 2 3; do
  run_job $ranks spans$ranks "${spans[@]}" train.steps=40 checkpoint.dir="$work/saves$ranks" checkpoint.every=25 checkpoint.keep=0
  [ -n "$(summary_of spans$ranks weights_hash)" ] && [ "$(summary_of spans$ranks weights_hash)" = "$(summary_of spans1 weights_hash)" ] ||
    fail "spans on $ranks ranks: other weights"
done
run_job 1 resumed "${spans[@]}" train.steps=40 checkpoint.resume="$work/saves2/step-00000025"
[ "$(summary_of resumed weights_hash)" = "$(summary_of spans1 weights_hash)" ] || fail "spans: other weights after a resume"
first=$(sed -n '1s/.*"loss":\([^,]*\),.*/\1/p' spans1/metrics.jsonl) last=$(summary_of spans1 train_loss)
echo "spans: loss $first -> $last"
awk -v first="$first" -v last="$last" 'BEGIN { exit !(last < first - 0.5) }' || fail "spans: the loss went from '$first' to '$last'"
"$dslaunch" data show train.toml "${spans[@]}" --step 3 --json >shown.json 2>out || fail "data show of spans: $(cat out)"
"$dslaunch" data show train.toml "${spans[@]}" >shown.txt 2>out && grep -q '<extra_id_0>' shown.txt || fail "data show of spans: $(cat out)"
python3 - "$work" <<'END' || fail "data show shows other texts"
import json, sys
work = sys.argv[1]
vocab = {v: k for k, v in json.load(open(work + "/t5/tokenizer.json"))["model"]["vocab"].items()}
order = [*range(33, 127), *range(161, 173), *range(174, 256)]
byte = {chr(c): c for c in order} | {chr(256 + i): c for i, c in enumerate(c for c in range(256) if c not in order)}
plain = lambda tokens: bytes(byte[c] for t in tokens for c in vocab[t]).decode(errors="replace")
texts = [json.loads(line)["text"] for line in open(work + "/a.jsonl")]
seen = 0
for sample in json.load(open(work + "/shown.json"))["samples"]:
    for d in sorted(set(sample["documents"]) - {-1}):
        read = [t for t, n in zip(sample["encoder_tokens"], sample["encoder_documents"]) if n == d]
        predicted = [t for t, n in zip(sample["targets"], sample["documents"]) if n == d]
        assert vocab[read[-1]] == vocab[predicted[-1]] == "</s>"
        spans, text = {}, []
        for t in predicted[:-1]:
            if vocab[t].startswith("<extra_id_"):
                spans[t] = []
                assert vocab[t] == f"<extra_id_{len(spans) - 1}>"
            else:
                spans[next(reversed(spans))].append(t)
        for t in read[:-1]:
            text += spans.get(t, [t])
        tail = plain(text).strip("\ufffd")
        assert any(tail in text for text in texts), tail
        seen += 1
assert seen > 6
END

refused() { # code, message, words
  local code=0 wanted=$1 what=$2
  shift 2
  "$dslaunch" data train-tokenizer "$@" >"$work/out" 2>&1 || code=$?
  [ $code = "$wanted" ] && grep -qF -- "$what" "$work/out" || fail "$*: exit code $code, not '$what': $(cat "$work/out")"
  [ ! -e new ] && [ -z "$(ls -d new.tmp* 2>/dev/null)" ] || fail "$*: leaves $(ls -d new*)"
}
: >empty.txt
echo '{"text": ""}' >blank.jsonl
echo '{"txt": "a"}' >wrong.jsonl
refused 64 "no text is given"
refused 64 "needs --out" a.jsonl --vocab 300
refused 64 "needs --vocab" a.jsonl --out new
refused 64 "--vocab 258 is too small: 256 bytes and 103 special tokens are 359" a.jsonl --out new --vocab 258 --kind t5
refused 64 "--kind must be gpt2, bert, roberta, t5, not 'gpt'" a.jsonl --out new --vocab 300 --kind gpt
refused 64 "the token \"<|endoftext|>\" is there twice" a.jsonl --out new --vocab 300 --special '<|endoftext|>'
refused 64 "--special ',a': one of them is empty" a.jsonl --out new --vocab 300 --special ,a
refused 64 "no file has lines of JSON" part000.txt --out new --vocab 300 --fields text
refused 65 "gpt2: already exists" a.jsonl --out gpt2 --vocab 300
refused 65 "empty.txt: it is empty" empty.txt --out new --vocab 300
refused 65 "the files have no text" blank.jsonl --out new --vocab 300
refused 65 "wrong.jsonl:1:1: there is no field \"text\"" wrong.jsonl --out new --vocab 300
refused 65 "none.txt: No such file" none.txt --out new --vocab 300
"$dslaunch" data train-tokenizer part000.txt --out few --vocab 60000 >"$work/out" 2>&1 || fail "few pairs: $(cat "$work/out")"
grep -q 'fewer than --vocab 60000: no other pair' "$work/out" || fail "too few pairs are not told: $(cat "$work/out")"
# A signal during the work leaves nothing.
for ((i = 0; i < 40; i++)); do cat "$work/text"; done >big.txt
"$dslaunch" data train-tokenizer big.txt --out stopped --vocab 30000 --threads 1 >"$work/out" 2>&1 &
pid=$!
until [ "$(cut -d' ' -f14 "/proc/$pid/stat" 2>/dev/null || echo 99)" -ge 10 ]; do :; done # ticks of CPU time: it works
kill -TERM $pid
wait $pid 2>/dev/null && fail "the work was done before the signal: $(cat "$work/out")"
[ -z "$(ls -d stopped* 2>/dev/null)" ] || fail "a signal leaves $(ls -d stopped*)"
rm big.txt
not_trained() { # message, keys
  local code=0 what=$1
  shift
  timeout 60 "$dslaunch" train.toml "${spans[@]}" "$@" log.dir="$work/refused" >"$work/out" 2>&1 || code=$?
  [ $code = 65 ] && grep -qF "$what" "$work/out" || fail "$*: exit code $code, not '$what': $(cat "$work/out")"
}
not_trained "data.task = \"spans\" needs a tokenizer" data.tokenizer=bytes
not_trained "gpt2 has no token <extra_id_0>" data.tokenizer=gpt2
not_trained "t5 has no token <extra_id_100>, but" data.encoder_len=4096 data.seq_len=1024
not_trained "data.encoder_len = 64 and data.seq_len = 2 have no room for a span" data.seq_len=2
not_trained "data.rows = \"cut\" does not apply" data.rows=cut
not_trained "does not apply to data.format = \"samples\"" data.format=samples
[ $failures = 0 ] && echo "train-tokenizer: all as promised"
exit $((failures > 0))
