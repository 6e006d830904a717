#!/usr/bin/env bash
# Hosts that are added to a running training and do not fit: without the program, with another build, instruction set, data or
# configuration, with too little memory. Each is refused with one message, and no step waits. Once it is mended, it joins.
. "$(dirname "$0")/../../support/train_ranks.sh" || exit 1
mkdir "$work/bin"
cp "$DS_BIN/dslaunch" "$DS_BIN/dsrunner" "$work/bin/"
export DSLAUNCH_RUNTIME_DIR=$work/.sockets
cp "$work/train.toml" "$work/train.toml.own"
err=$work/err

"$work/bin/dslaunch" -H a,b --transport local --nodes 2:3 --verdict "$work/v.json" "$work/train.toml" "log.dir=$work/run" \
  determinism.virtual_ranks=6 batch.global=12 train.steps=5000 debug.slow_data=0:50 >"$work/out" 2>"$err" </dev/null &
pids=($!)
steps() { cat "$work/run/metrics.jsonl" 2>/dev/null | grep -c '"loss"'; }
reached() { [ "$(steps)" -ge "$1" ]; }
says() { grep -qE -- "$1" "$err"; }
scale() { "$work/bin/dslaunch" scale "$@" >"$work/scale" 2>&1 || fail "scale $*: $(cat "$work/scale")"; }
# refused HOST TEXT: it is added, and refused for this reason; the training goes on, and the host is removed again
refused() {
  local before
  scale --add "$1"
  wait_for 30 says "^dslaunch: $1 cannot join: $2" || fail "$1 is not refused with '$2': $(cat "$err")"
  before=$(steps)
  wait_for 20 reached $((before + 3)) || fail "$1: no steps after it was refused: $(cat "$err")"
  scale --remove "$1"
}
mended='; once that is mended, it joins: it is checked again at least every 30 s$'

wait_for 60 reached 3 || { fail "no steps: $(cat "$work/out" "$err")"; exit 1; }

mv "$work/bin/dsrunner" "$work/dsrunner.own"
refused no-program "cannot run .*/dsrunner: .*$mended"

cp "$work/dsrunner.own" "$work/dsrunner.new"
echo "more bytes" >>"$work/dsrunner.new"
mv "$work/dsrunner.new" "$work/bin/dsrunner"
refused build "another build of dsrunner is there \(id [0-9a-f]{32}, the job has [0-9a-f]{32}\); install the same one there$mended"
mv "$work/dsrunner.own" "$work/bin/dsrunner"

cp "$work/text" "$work/text.own"
{ cat "$work/text"; echo "more text"; } >"$work/text.new"
mv "$work/text.new" "$work/text" # the ranks keep the file that they have mapped
refused data "its data is not that of the job \(.*, the job has .*\); copy the same files there$mended"
mv "$work/text.own" "$work/text"

sed 's/^lr = .*/lr = 6e-3/' "$work/train.toml.own" >"$work/train.toml"
refused settings "its configuration is not that of the job \(optimizer.lr: 0.006, the job has 0.003\); copy the same file there$mended"

sed 's/^threads = 1/threads = 1\nisa = "avx2"/' "$work/train.toml.own" >"$work/train.toml"
if "$dsrunner" --check "$work/train.toml" 2>/dev/null && [ "$("$dsrunner" --check=facts "$work/train.toml")" != "$("$dsrunner" --check=facts "$work/train.toml.own")" ]; then
  refused isa "its processor or GPU computes with other instructions .*$mended"
fi

sed 's/^threads = 1/threads = 1\nmemory = "1MiB"/' "$work/train.toml.own" >"$work/train.toml"
refused memory ".*MiB.*$mended"
cp "$work/train.toml.own" "$work/train.toml"

! says "pausing|starting all ranks again|epoch 1" || fail "a host that does not fit disturbed the training: $(cat "$err")"

# Without a word to the launcher: the next check finds that it is mended.
mv "$work/bin/dsrunner" "$work/dsrunner.own"
scale --add late
wait_for 30 says "^dslaunch: late cannot join: " || fail "late is not refused: $(cat "$err")"
mv "$work/dsrunner.own" "$work/bin/dsrunner"
wait_for 40 says "^dslaunch: late is ready; pausing the training$" || fail "late does not join: $(cat "$err")"
wait_for 40 says "^dslaunch: epoch 1: 3 nodes and 3 ranks \(before: 2 and 2\); late joins$" || fail "no epoch 1: $(cat "$err")"
before=$(steps)
wait_for 40 reached $((before + 3)) || fail "no steps in epoch 1: $(cat "$err")"
[ "$(grep -c 'late cannot join' "$err")" = 1 ] || fail "late is refused more than once: $(cat "$err")"

kill -TERM "${pids[0]}"
wait "${pids[0]}"
pids=()
[ $failures = 0 ] && echo "joiners: each that does not fit is refused, and no step waits"
exit $((failures > 0))
