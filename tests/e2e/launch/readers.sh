#!/usr/bin/env bash
# Tests slow readers, floods of output, standard input and terminals.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
mkfifo pipe

# stuck OPTIONS... : ranks write 60 MB while nobody reads; `seen` has what was there before the reader began.
stuck() {
  rm -f done seen
  (
    exec 3<pipe
    for ((i = 0; i < 800; ++i)); do
      [ ! -e done ] || break
      sleep 0.05
    done
    [ -e done ] && echo ended >seen
    exec cat <&3 >out
  ) &
  local reader=$!
  rc=0
  "$dslaunch" "$@" -- bash -c 'seq 1 8000000; : >done' >pipe 2>err </dev/null || rc=$?
  wait $reader
}
stuck
expect 0 "spool"
[ -e seen ] || die "a reader that stands still has blocked the rank"
cmp -s out <(seq 1 8000000) || die "spool: lines are missing"
stuck --backpressure drop --spool 4M
expect 0 "drop"
[ -e seen ] || die "drop: the rank was blocked"
[ "$(tail -n 1 out)" = 8000000 ] || die "drop: the newest line is not there"
dropped=$(grep -oE '[0-9]+ lines were dropped' err | awk '{sum += $1} END {print sum}')
[ $((dropped + $(wc -l <out))) = 8000000 ] || die "drop: $dropped and $(wc -l <out) lines"

# A log file has everything, whatever the reader does.
stuck --backpressure drop --log-dir logs
[ -e seen ] || die "log files: the rank was blocked"
cmp -s logs/rank_0000.log <(seq 1 8000000) || die "log files: lines are missing"

# block: the rank waits for its reader.
rm -f done
"$dslaunch" --backpressure block -- bash -c 'seq 1 8000000; : >done' >pipe 2>err </dev/null &
launcher=$!
exec 3<pipe
sleep 1
[ ! -e done ] || die "block: the rank did not wait"
cat <&3 | cmp -s - <(seq 1 8000000) || die "block: lines are missing"
exec 3<&-
finish
expect 0 "block"

# A flood that nobody reads delays no kill.
setsid "$dslaunch" --grace 100ms -n 2 -- bash -c ': >"flood.$RANK"; exec yes' >pipe 2>err </dev/null &
launcher=$!
exec 3<pipe
wait_for files_there flood.0 flood.1
sleep 0.5
kill -INT "$launcher"
finish
expect 130 "interrupt under a flood"
grep -q "^dslaunch: interrupted; 2 ranks stopped" err || die "a flood that nobody reads hides how the job ended"
exec 3<&-
wait_for nothing_left
# A signal while the output of a finished job is unread drops that output, and says so. Ctrl-Z stops the launcher.
for words in "-n 2 --grace 1s -- sh -c 'seq 1 200000'" "exec -w localhost -- seq 1 400000"; do
  eval 'setsid "$dslaunch" '"$words"' >pipe 2>err </dev/null &'
  launcher=$!
  exec 3<pipe
  is_finished() { "$dslaunch" ps | grep -q ' finished '; }
  wait_for is_finished
  kill -TSTP "$launcher"
  wait_for is_stopped "$launcher"
  kill -CONT "$launcher"
  "$dslaunch" kill "$("$dslaunch" ps --ids)" || die "kill of a finished job: $words"
  finish
  expect 143 "TERM while output is unread: $words"
  grep -q 'output that was not read is dropped$' err || die "dropped output is not told: $words"
  exec 3<&-
done
# A rank that fails under a flood of others ends the job too.
rm -f flood.*
(sleep 1.5; cat) <pipe >/dev/null &
reader=$!
rc=0
"$dslaunch" --grace 100ms -n 2 -- bash -c '[ $RANK = 1 ] || exec yes; sleep 0.5; exit 5' >pipe 2>err </dev/null || rc=$?
wait $reader
expect 5 "failure under a flood"

# Standard input.
rc=0
seq 1 3 | "$dslaunch" -n 3 --stdin 1 -- bash -c 'cat; echo "end $RANK"' >out 2>err || rc=$?
expect 0 "standard input of a rank"
[ "$(sort out)" = "[0] end 0
[1] 1
[1] 2
[1] 3
[1] end 1
[2] end 2" ] || die "standard input of a rank"
head -c 20000000 /dev/urandom >random
"$dslaunch" -n 2 --stdin all --prefix '{rank} ' -- md5sum <random >out 2>err || die "standard input of all"
[ "$(sort out)" = "0 $(md5sum <random)
1 $(md5sum <random)" ] || die "standard input of all"
# A rank that reads little; and one that reads nothing keeps nobody.
yes | "$dslaunch" -n 2 --stdin 0 -- bash -c '[ $RANK = 1 ] || head -n 2; echo "end $RANK"' >out 2>err || die "rest of input"
[ "$(sort out)" = "[0] end 0
[0] y
[0] y
[1] end 1" ] || die "rest of input"
run -n 2 --stdin 2 -- true
expect 64 "standard input of a rank that is not"
"$dslaunch" -n 2 --stdin all -- sh -c 'cat; echo end' >out 2>err </tmp
rc=$?
expect 1 "standard input that cannot be read"
last_line_is "dslaunch: cannot read standard input: Is a directory; 2 ranks stopped"
# A rank asks, and is answered.
mkfifo answers
"$dslaunch" --stdin 0 -- bash -c 'read -r -p "name? " name 2>&1; printf "name? "; read -r name; echo "hello $name"' <answers >out 2>err &
launcher=$!
exec 4>answers
echo first >&4
wait_for grep -q 'name? ' out
echo Ann >&4
finish
exec 4>&-
grep -q 'hello Ann' out || die "a question and its answer"
# Whoever closed one of the three gets none of the launcher's own descriptors there.
timeout 20 "$dslaunch" -n 2 --stdin all -- cat <&- >out 2>err || die "closed standard input: $?"
[ ! -s out ] || die "closed standard input: something was read"
"$dslaunch" -- true 2>&- >out </dev/null || die "closed standard error"
rc=0
"$dslaunch" -- sh -c 'echo words' 2>err >&- </dev/null || rc=$?
expect 141 "closed standard output"
grep -q 'standard output cannot be written: Bad file descriptor' err || die "closed standard output is not told"

# Terminals.
run -n 2 --pty -- bash -c '[ -t 1 ] && [ ! -t 2 ] && stty size <&1 && printf "a\nb\n"; echo "$TERM" >&2'
expect 0 "pty"
[ "$(sort out | tr '\n' ,)" = '[0] 24 80,[0] a,[0] b,[1] 24 80,[1] a,[1] b,' ] || die "output on a terminal"
[ "$(grep -c $'\r' out)" = 0 ] || die "pty: bytes were changed"
for i in 1 2 3 4 5 6 7 8 9 10; do
  run -n 2 --pty -- bash -c 'seq 1 500; exec >&-'
  expect 0 "pty: a rank that closes its standard output"
  [ "$(wc -l <out)" = 1000 ] || die "pty: $(wc -l <out) lines"
done
run --pty -- cat "$dslaunch"
cmp -s out "$dslaunch" || die "pty: bytes were changed"
echo "readers: slow ones lose nothing they should not, floods delay nothing, input and terminals work"
