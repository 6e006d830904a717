#!/usr/bin/env bash
# Sets of validation data with names, and `dslaunch eval`: every set has its loss in every record, with equal bits at any world size;
# eval of a checkpoint has the bits that training recorded at its step; folders have the losses of transformers; bad input is refused.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
cd "$work" || exit 1 # words name files from here
dslaunch=$DS_BIN/dslaunch
fixtures=$DS_SOURCE/tests/golden/fixtures
export XDG_CACHE_HOME=$work/cache

# evaluate WORDS...: what `dslaunch eval` prints
evaluate() { timeout -s KILL 60 "$dslaunch" eval "$@" 2>"$work/err" </dev/null || fail "eval $*: exit $?: $(cat "$work/err")"; }
# refused CODE TEXT WORDS...: it ends with this code and says this text
refused() {
  local code=$1 text=$2 out
  shift 2
  out=$(timeout -s KILL 60 "$dslaunch" eval "$@" 2>&1 </dev/null)
  [ $? = "$code" ] || fail "eval $*: exit code is not $code: $out"
  case $out in *"$text"*) ;; *) fail "eval $*: expected '$text', found: $out" ;; esac
}
# recorded RUN STEP [SET]: the loss in metrics.jsonl
recorded() { sed -n "s/^{\"step\":$2,${3:+\"validation_set\":\"$3\",}\"validation_loss\":\([^,]*\),.*/\1/p" "$1/metrics.jsonl"; }
# loss_in LINES [SET]: the loss that eval printed
loss_in() { sed -n "s/^${2:+$2: }loss \([^ ]*\) nats .*/\1/p" <<<"$1"; }

mkdir sets
find "$DS_SOURCE/launcher" -name '*.cpp' | LC_ALL=C sort | xargs cat 2>/dev/null | head -c 20000 >sets/web.txt
head -c 3000 "$DS_SOURCE/README.md" >sets/code-1.txt
printf 'A set of few rows.' >sets/few.txt
sets='data.validation={web = "sets/web.txt", code = ["sets/code-*.txt"], "few.x" = "sets/few.txt"}'
keys=(determinism.virtual_ranks=3 train.validate_every=4 train.validate_batches=2 train.steps=8 "$sets")
run_job 1 one "${keys[@]}" "checkpoint.dir=$work/saved" checkpoint.every=4 log.csv=true
run_job 2 two "${keys[@]}"
run_job 3 three "${keys[@]}" zero.stage=3
for step in 4 8; do
  for set in web code few.x; do
    wanted=$(recorded one $step $set)
    [ -n "$wanted" ] || fail "no loss of $set at step $step: $(cat one/metrics.jsonl)"
    for run in two three; do
      [ "$(recorded $run $step $set)" = "$wanted" ] || fail "$run: $set at step $step: $(recorded $run $step $set), not $wanted"
    done
    # All records name the set, and eval of the checkpoint has the bits of training.
    grep -q "^$step,,,,,,,,[^,]*,$wanted,$set,," one/metrics.csv || fail "metrics.csv: $(grep "$set" one/metrics.csv)"
    printf -v shown 'step %d/8  validation loss of %s %.4f nats per byte' $step $set "$wanted"
    grep -qF "$shown" one.0.out || fail "not printed: $shown"
    [ "$(loss_in "$(evaluate saved/step-0000000$step)" $set)" = "$wanted" ] || fail "eval of step $step, $set: $(cat err) $(evaluate saved/step-0000000$step), not $wanted"
  done
done
tr -d ' \n' <one/summary.json | grep -qF '"validation_losses":{"code":' || fail "summary.json: $(cat one/summary.json)"
grep -q 'validation set few.x has 1 row, each is read once' one.0.out || fail "nothing is said of a small set: $(cat one.0.out)"

# Another train.toml keeps the virtual ranks; a fraction, and files without a name, as before sets had names.
evaluate saved --config train.toml "$sets" train.validate_batches=2 >out
[ "$(loss_in "$(cat out)" web)" = "$(recorded one 8 web)" ] || fail "--config: $(cat out)"
run_job 2 tail train.validate_batches=2 data.validation=0.1 "checkpoint.dir=$work/tailed" precision.dtype=bf16
[ "$(loss_in "$(evaluate tailed)")" = "$(recorded tail 20)" ] && [ -n "$(recorded tail 20)" ] || fail "a fraction: $(evaluate tailed), not $(recorded tail 20)"
run_job 1 files data.validation=sets/web.txt "checkpoint.dir=$work/filed" lora.rank=4
[ "$(loss_in "$(evaluate filed)")" = "$(recorded files 20)" ] && [ -n "$(recorded files 20)" ] || fail "files and adapters: $(evaluate filed)"
grep -q validation_set files/metrics.jsonl && fail "a set without a name is named"

# Files are read whole: every byte but the first is predicted once, by any number of rows together and any threads.
evaluate saved sets/web.txt >out
grep -q ', 19999 targets in 625 rows$' out || fail "a file: $(cat out)"
[ "$(evaluate saved --data few=sets/few.txt --data web=sets/web.txt --threads 2 | sed -n 's/^web: //p')" = "$(cat out)" ] || fail "--data: $(cat out)"
[ "$(evaluate saved sets/web.txt --rows 0 data.seq_len=32)" = "$(cat out)" ] || fail "--rows 0"
evaluate saved sets/web.txt --rows 10 --batch 4 | grep -q ', 320 targets in 10 rows$' || fail "--rows"
evaluate saved sets/web.txt --json | tr -d ' \n' >out
grep -q '"step":8,"dtype":"fp32","seq_len":32,"sets":\[{"validation_set":null,"validation_loss":[0-9.]*,"perplexity":[0-9.]*,"bits_per_byte":[0-9.]*,"targets":19999,"rows":625,"bytes":19999}\]}$' out || fail "--json: $(cat out)"
evaluate saved sets/web.txt --dtype bf16 | grep -q ', 19999 targets' || fail "--dtype bf16"

# data show and pack know of sets.
"$dslaunch" data show train.toml "$sets" --set few.x | grep -q '^sample 0 at 0: .* learned$' || fail "data show --set: $("$dslaunch" data show train.toml "$sets" --set few.x 2>&1)"
"$dslaunch" data show train.toml "$sets" --set none 2>&1 | grep -q -- '--set none: data.validation has no such set' || fail "data show --set none"

# An override of the task forgets what the checkpoint's config says of another one.
printf '{"prompt": "What is it?", "response": "a set"}\n{"prompt": "And that?", "response": "one more"}\n' >pairs.jsonl
evaluate saved pairs.jsonl data.task=response >out
grep -Eq ', 13 targets in [12] rows?$' out || fail "data.task=response: $(cat out)"

# Folders: losses of transformers.
while read -r name data loss targets; do
  folder=$fixtures/sample/$name
  words=("$fixtures/eval/$data.safetensors" data.seq_len=24)
  case $data in
    masked) folder=$fixtures/masks/$name words=("$fixtures/eval/masked.safetensors" data.seq_len=12) ;;
    text)
      cp -r "$folder" "text_$name" && cp "$fixtures/eval/tokenizer.json" "text_$name/"
      folder=text_$name words=("$fixtures/eval/text.txt" data.seq_len=16) ;;
  esac
  for batch in 1 3 8; do
    out=$(evaluate "$folder" "${words[@]}" --batch $batch)
    awk -v a="$(loss_in "$out")" -v b="$loss" 'BEGIN { d = a - b; exit !(a != "" && d < 2e-5 && d > -2e-5) }' || fail "$name $data, batch $batch: $out, not $loss"
    [[ $out == *", $targets targets in "* ]] || fail "$name $data: $out, not $targets targets"
  done
  # Each token is one byte here.
  [ $data != text ] || awk -v a="$(sed -n 's/.*, \([0-9.]*\) bits per byte.*/\1/p' <<<"$out")" -v b="$loss" 'BEGIN { d = a - b / log(2); exit !(d < 1e-4 && d > -1e-4) }' || fail "bits per byte: $out"
done <"$fixtures/eval/expected.txt"

# What cannot be is refused, with one message.
gpt2=$fixtures/sample/gpt2
refused 64 "a checkpoint or a Hugging Face folder"
refused 64 "there are no data to evaluate on" "$gpt2"
refused 64 "its ending does not say its data.format" "$gpt2" train.toml
refused 65 "none.txt matches no file" saved none.txt
refused 65 "the checkpoint none does not exist" none sets/web.txt
refused 65 "its tokens are not bytes" "$gpt2" sets/web.txt
refused 65 "model.vocab = 61 is less than the 256 tokens of the tokenizer" "$work/text_gpt2" sets/web.txt data.tokenizer=bytes
refused 65 "is not the one of saved" saved sets/web.txt data.tokenizer="$work/text_gpt2"
refused 65 "data.seq_len = 81 is more than the 80 positions" "$gpt2" "$fixtures/eval/rows.safetensors" data.seq_len=81
printf x >one.txt
refused 65 "data.validation.one: 1 B has no target" saved --data one=one.txt
[ $failures = 0 ] && echo "sets have losses of their own, and eval computes those of training and of transformers"
exit $((failures > 0))
