#!/usr/bin/env bash
# dslaunch report: a page of two runs and of one that was killed and resumed; hostile names, damage, and bad input.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
cd "$work" || exit 1
# report CODE ARGS...: output in out and err
report() {
  local code=$1 seen
  shift
  timeout 60 "$DS_BIN/dslaunch" report "$@" >out 2>err </dev/null
  seen=$?
  [ $seen = "$code" ] || fail "report $*: exit $seen, not $code: $(cat out err)"
}
# says FILE TEXT: the file contains the text
says() { grep -qF -- "$2" "$1" || fail "$1 does not say: $2; it says: $(head -c 2000 "$1")"; }
# one_message TEXT: standard error is one message, which contains the text
one_message() {
  says err "$1"
  [ ! -s out ] && [ "$(grep -vc '^  hint: ' err)" = 1 ] || fail "not one message: $(cat out err)"
}

run_job 2 'a<img src=x onerror=alert(1)>' data.validation=0.05 train.validate_every=10 train.validate_batches=1 determinism.virtual_ranks=2
run_job 1 second optimizer.lr=1e-3 precision.dtype=fp16 log.phases=false
# Killed after step 12 or later, resumed at step 10, and killed again.
saves=(checkpoint.dir="$work/saves" checkpoint.every=5 checkpoint.async=false train.steps=100000)
start_job 1 killed "${saves[@]}"
wait_for 60 grep -qs '"step":12,' killed/metrics.jsonl || fail "no step 12: $(cat killed.0.out)"
kill -9 "${pids[0]}"
wait "${pids[0]}" 2>/dev/null
first=$(grep -c '"loss":' killed/metrics.jsonl)
start_job 1 killed "${saves[@]}"
wait_for 60 [ -d killed/previous-1 ] && wait_for 60 grep -qs '"loss":' killed/metrics.jsonl || fail "no step after the resume: $(cat killed.0.out)"
report 0 killed --json
says out '"state":"running"'
kill -9 "${pids[0]}"
wait "${pids[0]}" 2>/dev/null
pids=()
touch -d '1 hour ago' killed/metrics.jsonl

report 0 'a<img src=x onerror=alert(1)>' second killed
says out 'report.html: 3 runs'
head -c 39 report.html | grep -qF '<!doctype html><!-- dslaunch report -->' || fail "the page begins with $(head -c 60 report.html)"
[ "$(grep -c '</script>' report.html)" = 2 ] || fail "script elements: $(grep -n '</script>' report.html | cut -c1-80)"
! grep -qF '<img' report.html || fail "a name became an element"
says report.html 'a\u003cimg src=x onerror=alert(1)\u003e'
says report.html '<title>Report: a&lt;img'
! sed 's#http://www.w3.org/2000/svg##g' report.html | grep -nE 'https?:|src=["h]|@import|url\(h' || fail "the page fetches something"
[ "$(wc -c <report.html)" -lt 2000000 ] || fail "the page has $(wc -c <report.html) bytes"
says report.html '"state":"interrupted"'
says report.html '"key":"optimizer.lr","values":["0.003","0.001","0.003"]'
says report.html '["Ranks","2'
says report.html '["Best validation loss","'
says report.html 'resumed at step '

# The JSON is that of the page, and the resumed run has every step once.
report 0 killed --json
! [ -s err ] || fail "warnings: $(cat err)"
steps=$(sed 's/.*"curves":{"step":\[\([^]]*\)\].*/\1/' out | tr ',' '\n')
[ "$(echo "$steps" | head -1)" = 1 ] && [ "$(echo "$steps" | sort -n | uniq -d | wc -l)" = 0 ] || fail "steps of a resumed run: $steps"
[ "$(echo "$steps" | wc -l)" -ge 10 ] && [ "$first" -ge 12 ] || fail "a part is missing: $steps"
report 0 killed second --names 'old run,new' --out named.html
says named.html '"name":"old run"'

# Damage is counted and named, and the rest is shown.
mkdir damaged
{ head -n 3 second/metrics.jsonl; printf '\0\1junk\n'; sed -n 4,6p second/metrics.jsonl; head -n 7 second/metrics.jsonl | tail -n 1 | head -c 40; } >damaged/metrics.jsonl
echo '{"steps": 1' >damaged/summary.json
echo '= 3' >damaged/config.toml
report 0 damaged
says err 'damaged: 1 damaged line left out, the first at metrics.jsonl:4'
says report.html '1 damaged line left out, the first at metrics.jsonl:4'
says report.html 'the last line of metrics.jsonl is cut'

# A finished run that is started again makes no step, and is finished all the same.
for start in 1 2; do run_job 1 again checkpoint.dir="$work/again-saves" train.steps=5; done
grep -q '"steps": 5,' again/summary.json && grep -q '"train_loss": null,' again/summary.json || fail "a run without steps: $(cat again/summary.json)"
report 0 again --json
says out '"state":"finished"'

# Bad input.
mkdir empty nothing
: >empty/metrics.jsonl
echo precious >mine.html
report 64
report 64 second --nonsense
report 64 second --names a,b
one_message '--names has 2 names for 1 runs'
report 64 second --out mine.html
one_message 'it exists and is not a report of dslaunch'
[ "$(cat mine.html)" = precious ] || fail "mine.html was written"
# A pattern such as runs/* names folders of checkpoints, too.
report 0 nothing second
says err 'dsrunner: left out, because it has no metrics.jsonl: nothing'
report 65 nothing second --names a,b
one_message 'is not a run folder: it has no metrics.jsonl'
report 65 nothing
one_message 'is not a run folder: it has no metrics.jsonl'
report 65 "$work"
one_message 'it contains run folders'
report 65 missing
one_message 'No such file or directory'
report 65 second/metrics.jsonl
one_message 'not a folder'
report 65 empty
one_message 'empty has no logged step yet'
report 0 empty second
report 1 second --out no/such/folder/r.html
one_message 'cannot be written'

[ $failures = 0 ] && echo "report: pages of finished, resumed and killed runs; names are text; damage is named"
exit $((failures > 0))
