#!/usr/bin/env bash
# DeepSpeed configurations as people have them: each converts, trains with `deepspeed =` in train.toml, and ends with the same
# weights as the converted train.toml. One fits a single rank and is refused on two.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
dslaunch=$DS_BIN/dslaunch
configs=$DS_SOURCE/tests/golden/fixtures/deepspeed

# The parts of a train.toml that no JSON has.
rest='[model]
preset = "gpt-tiny"
[data]
train = "text"
validation = 0
seq_len = 32
[train]
steps = 20
[device]
threads = 1'

# both NAME RANKS [KEY=VALUE...]: trains with the JSON and with its TOML
both() {
  local name=$1 ranks=$2
  shift 2
  "$dslaunch" convert "$configs/$name.json" >"$work/converted" 2>"$work/err" || fail "$name: convert: $(cat "$work/err")"
  grep -vE '^($|#|\[)' "$work/converted" | grep -v ' # ' && fail "$name: lines above without their origin"
  printf 'deepspeed = "%s"\n%s\n' "$configs/$name.json" "$rest" >"$work/train.toml"
  run_job "$ranks" "$name" "log.every=1" "$@"
  { cat "$work/converted"; echo "$rest"; } >"$work/train.toml"
  run_job "$ranks" "$name.toml" "log.every=1" "$@"
  local a b
  a=$(summary_of "$name" weights_hash) b=$(summary_of "$name.toml" weights_hash)
  [ -n "$a" ] && [ "$a" = "$b" ] || fail "$name: weights '$a' with the JSON, '$b' with its TOML"
  local first last
  first=$(sed -n '1s/.*"loss":\([^,]*\),.*/\1/p' "$work/$name/metrics.jsonl")
  last=$(summary_of "$name" train_loss)
  printf '%-20s %s ranks: loss %s -> %s, %s steps skipped, weights %s\n' "$name" "$ranks" "$first" "$last" \
    "$(summary_of "$name" skipped_steps)" "$a"
  # The text is this project's own, so the losses change with it.
  awk -v first="$first" -v last="$last" 'BEGIN { exit !(first > 5 && last < first - 0.05) }' ||
    fail "$name: the loss went from '$first' to '$last'"
}

both basic_zero2_fp16 1
both bert_zero1_offload 2
both t5_zero2_bf16 2
both zero2_fp16_auto 2
# "auto" is a bucket of hidden * hidden where the model is known, and the plan's where it is not; no bit depends on it.
both zero3_offload_auto 2 batch.micro=2

# What was passed over is said once.
grep -q 'basic_zero2_fp16.json: [0-9]* keys passed over; dslaunch convert' "$work/basic_zero2_fp16.0.out" ||
  fail "no line about keys that were passed over: $(cat "$work/basic_zero2_fp16.0.out")"

# refused MESSAGE COMMAND...: exit 65, nothing on standard output
refused() {
  local message=$1 code
  shift
  "$@" >"$work/out" 2>"$work/err"
  code=$?
  [ $code = 65 ] && [ ! -s "$work/out" ] && grep -qF -- "$message" "$work/err" || fail "exit $code, expected 65 and '$message': $(cat "$work/err")"
}
printf 'deepspeed = "%s"\n%s\n' "$configs/basic_zero2_fp16.json" "$rest" >"$work/train.toml"
RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 MASTER_PORT=1 refused 'batch.micro = 16 * batch.accum = 8 * 2 virtual ranks = 256, but batch.global = 128' \
  "$dsrunner" --check=config "$work/train.toml"
cat >"$work/bad.json" <<'END'
{
  "gradient_cliping": 1.0,
  "zero_optimization": {"stage": 4},
  "optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-3, "freeze_step": 100}}
}
END
refused 'bad.json: 4 keys cannot be converted' "$dslaunch" convert "$work/bad.json"
refused 'did you mean "gradient_clipping"?' "$dslaunch" convert "$work/bad.json"
refused 'cannot be read: No such file' "$dslaunch" convert "$work/missing.json"
"$dslaunch" convert "$configs/zero3_offload_auto.json" --hidden 768 --json >"$work/out" || fail "convert --json"
grep -q '"value": 589824' "$work/out" || fail "no bucket of 768 * 768 in: $(cat "$work/out")"
[ $failures = 0 ] && echo "DeepSpeed's JSON: all checks passed"
exit $((failures > 0))
