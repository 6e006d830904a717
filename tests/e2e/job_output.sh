#!/usr/bin/env bash
# What ranks write and what arrives: prefixes, streams apart, long lines, no newline, binary, progress lines.
set -u
dslaunch="$DS_BIN/dslaunch"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0
failures=0

run() { timeout 60 "$dslaunch" "$@" >out 2>err </dev/null; }
# check NAME CONDITION...: the condition is a command.
check() {
  local name=$1
  shift
  checks=$((checks + 1))
  "$@" && return
  failures=$((failures + 1))
  printf 'FAILED: %s\n' "$name"
  head -c 300 out
  head -c 300 err
}

run -- sh -c 'echo one; echo two >&2'
check 'one rank has no prefix; streams stay apart' test "$(cat out)/$(cat err)" = one/two
run -n 3 -- sh -c 'echo out $RANK; echo err $RANK >&2'
check 'prefixes on stdout' test "$(sort out | tr '\n' ,)" = '[0] out 0,[1] out 1,[2] out 2,'
check 'prefixes on stderr' test "$(sort err | tr '\n' ,)" = '[0] err 0,[1] err 1,[2] err 2,'

# Bytes of one rank pass untouched, whatever they are.
head -c 3000000 /dev/urandom >random
run -- cat random
check 'binary output is untouched' cmp out random
run -- printf 'no newline'
check 'nothing is added to a last line' test "$(od -An -c out | tr -d ' ')" = 'nonewline'
run -n 2 -- printf 'no newline'
check 'but lines of several ranks are ended' test "$(sort out | tr '\n' ,)" = '[0] no newline,[1] no newline,'

# A line of a megabyte arrives in one piece while another rank writes all the time.
run -n 2 -- sh -c 'if [ $RANK = 0 ]; then while [ ! -e begun ]; do sleep 0.02; done; head -c 1000000 /dev/zero | tr "\0" L; echo; : >done
  else echo short; : >begun; while [ ! -e done ]; do echo short; done; fi'
check 'one long line' test "$(grep -c L out)" = 1
check 'all of it' test "$(grep L out | tr -d '\n' | wc -c)" = 1000004
check 'nothing else is torn' test "$(grep -v L out | sort -u)" = '[1] short'
# Many lines of many ranks: none lost, none torn, in order.
run -n 8 -- sh -c 'seq 20000'
for rank in 0 1 2 3 4 5 6 7; do seq 20000 | sed "s/^/[$rank] /"; done >expected
check 'many lines' cmp <(sort -s -t' ' -k1,1 out) expected

# A progress line passes before it has a newline, and before its rank ends.
mkfifo pipe
timeout 60 "$dslaunch" -n 2 -- sh -c '[ $RANK = 1 ] || { printf "50%%\r"; while [ ! -e seen ]; do sleep 0.02; done; echo; }' >pipe 2>err &
pid=$!
head -c 8 pipe >out
: >seen
wait $pid
check 'a progress line passes while the rank runs' test "$(cat out)" = $'[0] 50%\r'
rm -f seen
timeout 60 "$dslaunch" -- sh -c 'printf "prompt> "; while [ ! -e seen ]; do sleep 0.02; done' >pipe 2>err &
pid=$!
head -c 8 pipe >out
: >seen
wait $pid
check 'so does a prompt' test "$(cat out)" = 'prompt> '

# Standard input is empty; a reader that leaves ends the job.
run -- cat
check 'standard input is /dev/null' test ! -s out
timeout 60 "$dslaunch" -n 2 -- yes 2>err | head -n 1 >out
check 'a closed pipe ends the job' test "${PIPESTATUS[0]}" = 141

# A reader that pauses for longer than all limits loses nothing.
timeout 60 "$dslaunch" --node-timeout 1s --grace 100ms -n 2 -- head -c 15000000 /dev/zero 2>err | (sleep 5; wc -c) >out
check 'a slow reader' test "$(cat out)" -ge 30000000

# One file for both streams.
timeout 60 "$dslaunch" -n 2 -- sh -c 'echo a; echo b >&2' >out 2>&1 </dev/null
check 'one file for both streams' test "$(sort out | tr '\n' ,)" = '[0] a,[0] b,[1] a,[1] b,'

if [ "$failures" != 0 ]; then
  echo "output of ranks: $failures of $checks checks failed"
  exit 1
fi
echo "output of ranks: $checks checks passed"
