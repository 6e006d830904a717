#!/usr/bin/env bash
# Training on samples of token numbers: packed documents with padding, the same bits at every world size and after a resume, the
# mean over all counted tokens, a sample of numbers, and an error that names the place of a wrong number.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
command -v python3 >/dev/null || { echo "skipped: needs python3"; exit 77; }

# samples FILE KIND: writes 24 rows of 32 tokens. packed: with documents; answers: with 1 to 24 targets in a row; wrong: one token is
# not in the vocabulary
samples() {
  python3 - "$@" <<'END'
import json, struct, sys
path, kind = sys.argv[1:]
rows, length = 24, 32
tokens = [[(i * (1 + r % 3) + r) % 250 for i in range(length)] for r in range(rows)]
fields = {"tokens": ("U16", "H", tokens)}
if kind == "packed":
    fields["documents"] = ("I32", "i", [[-1 if i >= 32 - r % 5 else i // (5 + r) for i in range(length)] for r in range(rows)])
if kind == "answers":
    fields["targets"] = ("I64", "q", [[t if i <= r else -100 for i, t in enumerate(row)] for r, row in enumerate(tokens)])
if kind == "wrong":
    tokens[17][9] = 1000
header, data = {}, b""
for name, (word, code, values) in fields.items():
    part = b"".join(struct.pack("<%d%s" % (length, code), *row) for row in values)
    header[name] = {"dtype": word, "shape": [rows, length], "data_offsets": [len(data), len(data) + len(part)]}
    data += part
text = json.dumps(header).encode()
open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
END
}
for kind in packed answers wrong; do samples "$work/$kind.safetensors" $kind || exit 1; done
packed=(data.format=samples data.train="$work/packed.safetensors" model.vocab=250)

says() { grep -qF -- "$2" "$work/$1.0.out" || fail "$1 does not say '$2': $(tail -5 "$work/$1.0.out")"; }
first_loss() { sed -n '1s/.*"loss": *\([0-9.e+-]*\).*/\1/p' "$work/$1/metrics.jsonl"; }
same_weights() {
  [ "$(summary_of "$1" weights_hash)" = "$hash" ] || fail "$1: other weights: $(tail -3 "$work/$1.0.out")"
}

# The same weights at every world size, stage and model, with a ledger of rows and a sample of numbers.
for model in "model.preset=gpt-tiny" "model.preset=llama-tiny"; do
  keys=("${packed[@]}" "$model" determinism.virtual_ranks=2 data.validation=0.2)
  run_job 1 one "${keys[@]}" determinism.order=step log.samples=true "sample.prompt=3 4 5" sample.tokens=7
  hash=$(summary_of one weights_hash)
  [ ${#hash} = 32 ] || fail "no weights_hash"
  says one "20 samples for training, 4 samples held out; 32 tokens per sequence"
  says one "nats per token"
  [[ $(cat "$work/one/sample.txt") =~ ^[0-9]+(\ [0-9]+){9}$ ]] || fail "the sample is not a prompt of 3 numbers and 7 more: $(cat "$work/one/sample.txt")"
  awk -F'[][,]' '/"step":1,/ { exit $0 !~ /"offsets":\[[0-9]+,[0-9]+\]/ }' "$work/one/samples-rank0000.jsonl" ||
    fail "the ledger has no rows: $(head -n 1 "$work/one/samples-rank0000.jsonl")"
  run_job 2 two "${keys[@]}" zero.stage=2 determinism.order=step
  same_weights two
  run_job 2 three "${keys[@]}" zero.stage=3 recompute.policy=block
  same_weights three
  # A resume goes on with the rows that the first job has not used.
  saved=("${keys[@]}" determinism.order=step checkpoint.dir="$work/saves")
  run_job 2 half "${saved[@]}" train.steps=9 schedule.total=20
  run_job 1 rest "${saved[@]}"
  says rest "step 9"
  same_weights rest
  rm -r "$work/saves" "$work/one"
done

# Rows with 1 to 24 targets: one batch of 12 rows, or 12 micro-batches of one row, have the same mean.
answers=(data.format=samples data.train="$work/answers.safetensors" model.vocab=250 train.steps=1 batch.global=12)
run_job 1 whole "${answers[@]}" batch.accum=1 batch.micro=12
run_job 1 parts "${answers[@]}" batch.accum=12 batch.micro=1
awk -v a="$(first_loss whole)" -v b="$(first_loss parts)" 'BEGIN { d = a - b; exit !(a > 1 && d < 1e-5 && d > -1e-5) }' ||
  fail "the loss depends on how a batch is accumulated: $(first_loss whole) and $(first_loss parts)"
[ "$(summary_of whole tokens)" = $((12 * 32)) ] || fail "tokens without a target do not count as processed: $(summary_of whole tokens)"

# A wrong number ends the job with its place.
start_job 1 wrong data.format=samples data.train="$work/wrong.safetensors" model.vocab=250
wait "${pids[0]}"
code=$?
pids=()
[ $code = 65 ] || fail "a wrong token: exit $code: $(tail -3 "$work/wrong.0.out")"
says wrong "wrong.safetensors, row 17, column "
says wrong "token 1000 is out of range (0 to 249)"

# refused TEXT KEYS...: dsrunner --check refuses the keys with this text
refused() {
  env -u MASTER_ADDR -u MASTER_PORT "$dsrunner" --check "$work/train.toml" "${@:2}" >"$work/refused.0.out" 2>&1
  code=$?
  [ $code = 65 ] || [ $code = 64 ] || fail "${*:2}: exit $code"
  says refused "$1"
}
refused "missing key model.vocab" data.format=samples data.train="$work/packed.safetensors"
refused "data.tokenizer = \"none\" does not apply to text" data.tokenizer=none
refused "tokens has 32 tokens in a sample, but data.seq_len = 16" "${packed[@]}" data.seq_len=16
refused "needs a sample.prompt of token numbers, 0 to 249" "${packed[@]}" sample.tokens=3 "sample.prompt=a text"
refused "needs a sample.prompt of token numbers, 0 to 249" "${packed[@]}" sample.tokens=3 'sample.prompt="250"'
refused "model.tokens = 300 is more than model.vocab = 256" "${packed[@]}" model.tokens=300

[ $failures = 0 ] && echo "samples: all passed"
exit $((failures > 0))
