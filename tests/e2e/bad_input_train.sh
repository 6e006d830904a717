#!/usr/bin/env bash
# Wrong train.toml files, overrides and data: each gives one clear message with place and hint, nothing on stdout, exit 64 or 65.
set -u
dsrunner="$DS_BIN/dsrunner"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0
failures=0

# expect CODE MESSAGE ARGS...: runs dsrunner --check with ARGS and checks that MESSAGE is all of its standard error
expect() {
  local code=$1 message=$2 seen
  shift 2
  env -u RANK -u WORLD_SIZE timeout 20 "$dsrunner" --check "$@" >out 2>err </dev/null
  seen=$?
  checks=$((checks + 1))
  if [ "$seen" != "$code" ] || [ -s out ] || [ "$(cat err)" != "dsrunner: $message" ]; then
    failures=$((failures + 1))
    printf 'FAILED: dsrunner --check %s\n--- expected exit %s and:\ndsrunner: %s\n--- seen exit %s and:\n' "$*" "$code" "$message" "$seen"
    cat err out
  fi
}

head -c 5000 /dev/zero | tr '\0' 'a' >text
: >empty
printf 'abc' >short
cat >good.toml <<'END'
[model]
preset = "gpt-tiny"
[data]
train = "text"
seq_len = 32
[batch]
micro = 2
accum = 1
[train]
steps = 10
END

# A good file passes, otherwise the checks below would prove nothing.
if ! env -u RANK -u WORLD_SIZE timeout 20 "$dsrunner" --check good.toml >out 2>err </dev/null; then
  echo "FAILED: dsrunner --check good.toml"
  cat err out
  exit 1
fi

# Errors about the file.
expect 65 "missing.toml: cannot be read: No such file or directory
  hint: check the path; the folder configs/ has ready ones" missing.toml
expect 65 ".: is a folder, not a train.toml
  hint: name the file inside it" .
sed 's/^\[train\]/[train/' good.toml >broken.toml
expect 65 "broken.toml:9:7: invalid TOML: table header: expected ']', saw '\\n'
  [train
        ^
  hint: write key = value under a [section], with strings in double quotes" broken.toml

# Errors about keys.
sed 's/^micro/mirco/' good.toml >unknown.toml
expect 65 "unknown.toml:7:1: unknown key \"batch.mirco\"; did you mean \"batch.micro\"?
  mirco = 2
  ^
  hint: docs/config.md lists every key" unknown.toml
sed 's/^steps = 10/steps = "ten"/' good.toml >type.toml
expect 65 "type.toml:10:9: train.steps must be an integer, at least 1, not the string \"ten\"
  steps = \"ten\"
          ^" type.toml
sed 's/^accum = 1/accum = 0/' good.toml >range.toml
expect 65 "range.toml:8:9: batch.accum must be an integer, 1 to 65536, not the integer 0
  accum = 0
          ^" range.toml
sed 's/^accum = 1/accum = 3\nglobal = 8/' good.toml >batch.toml
expect 65 "batch.toml:9:10: batch.micro = 2 * batch.accum = 3 * 1 virtual ranks = 6, but batch.global = 8
  global = 8
           ^
  hint: leave one of the three out: any two give the third" batch.toml
sed '/^steps/d' good.toml >open.toml
expect 65 "open.toml: missing key train.steps
  hint: write steps = 1000, or epochs = 1, under [train]" open.toml

# Errors about overrides.
expect 64 "override 1: the string \"steps\" is not key=value
  hint: write SECTION.KEY=VALUE, for example train.steps=20" good.toml steps
expect 65 "override 2: unknown key \"train.stesp\"; did you mean \"train.steps\"?
  train.stesp=3
  ^
  hint: docs/config.md lists every key" good.toml train.seed=2 train.stesp=3
expect 65 "override 1: model.rope_scaling = \"yarn\" is not implemented yet
  model.rope_scaling=yarn
                     ^
  hint: supported: \"none\", \"linear\", \"llama3\"" good.toml model.rope_scaling=yarn

# Errors about data.
expect 65 "data.train: $PWD/none*.txt matches no file
  hint: a relative path in a train.toml starts at the folder of that file, and one on the command line at the working directory; scripts/fetch_text.sh makes data/english.txt" \
  good.toml 'data.train=none*.txt'
expect 65 "data file $PWD/empty: is empty
  hint: remove it or leave it out of the pattern" good.toml data.train=empty
expect 65 "data.train: 3 bytes are too few for data.seq_len = 32 and its target
  hint: give more text or lower data.seq_len" good.toml data.train=short
expect 65 "data.train: $PWD is a folder
  hint: name the files inside it, for example $PWD/*.txt" good.toml data.train=.
expect 65 "data.validation: $PWD/text is also in data.train
  hint: name other files there, or set data.validation to a fraction to hold out the end of each file" good.toml data.validation=text

# A model that does not fit: 12 TB of weights. The numbers depend on the machine, so only the form of the message is checked.
env -u RANK -u WORLD_SIZE timeout 100 "$dsrunner" --check good.toml model.layers=256 model.hidden=32768 model.heads=256 >out 2>err </dev/null
seen=$?
checks=$((checks + 1))
if [ "$seen" != 65 ] || [ -s out ] || ! grep -q '^dsrunner: .*[0-9]' err || ! grep -q '^  hint: ' err; then
  failures=$((failures + 1))
  echo "FAILED: a model that does not fit: expected exit 65, numbers and a hint; seen exit $seen and:"
  cat err out
fi

if [ "$failures" != 0 ]; then
  echo "bad input of training: $failures of $checks checks failed"
  exit 1
fi
echo "bad input of training: $checks checks passed"
