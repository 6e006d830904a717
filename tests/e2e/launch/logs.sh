#!/usr/bin/env bash
# Tests prefixes, timestamps, --show, --fold, colors and log files.
set -u
. "$DS_SOURCE/tests/support/launch.sh"

# Prefixes.
run -n 2 --prefix '{node}/{local_rank}/{stream}: ' -- bash -c 'echo out; echo err >&2'
expect 0 "prefix"
[ "$(sort out)" = "localhost/0/out: out
localhost/1/out: out" ] || die "prefix on standard output"
[ "$(sort err)" = "localhost/0/err: err
localhost/1/err: err" ] || die "prefix on standard error"
run -n 2 --prefix '' -- echo plain
[ "$(cat out)" = "plain
plain" ] || die "no prefix"
run -n 1 --prefix '<{rank}> ' -- echo one
[ "$(cat out)" = "<0> one" ] || die "prefix of a single rank"
run --prefix '{rnak}' -- true
expect 64 "unknown field"
grep -q 'did you mean {rank}? known: {rank} {local_rank}' err || die "unknown field: the known ones"

# Times: of the launcher's clock, not running backwards.
before=$(date +%Y-%m-%dT%H:%M:%S)
run -n 2 --timestamps -- bash -c 'for i in 1 2 3 4 5; do echo $i; sleep 0.01; done'
after=$(date +%Y-%m-%dT%H:%M:%S.999)
expect 0 "timestamps"
[ "$(grep -cE '^[-0-9]{10}T[0-9:]{8}\.[0-9]{3} \[[01]\] [1-5]$' out)" = 10 ] || die "timestamps: form"
for rank in 0 1; do
  grep "\[$rank\]" out | cut -d' ' -f1 | sort -c || die "timestamps of rank $rank run backwards"
done
while read -r time _; do
  [[ ! $time < $before && ! $time > $after ]] || die "timestamp $time is not between $before and $after"
done <out

# What is shown; the rest is kept for the verdict.
run -n 3 --show 0,err -- bash -c 'echo "out $RANK"; echo "err $RANK" >&2'
[ "$(cat out)" = "[0] out 0" ] || die "--show on standard output"
[ "$(sort err)" = "[0] err 0
[1] err 1
[2] err 2" ] || die "--show on standard error"
run -n 3 --show last -- bash -c 'echo "out $RANK"'
[ "$(cat out)" = "[2] out 2" ] || die "--show last"
run -n 2 --show none -- bash -c 'echo "words of $RANK"; [ $RANK = 0 ] || exit 3'
expect 3 "--show none"
[ ! -s out ] || die "--show none"
grep -q 'words of 1' err || die "--show none: last lines in the verdict"
run -n 2 --show 2 -- true
expect 64 "--show of a rank that is not"

# Folding: nothing is lost, the order of each rank stays, and equal lines are one where ranks write them together.
# said_by RANK: the lines of a rank, out of folded ones.
said_by() {
  awk -v rank="$1" '{
    text = $0; sub(/^[^ ]* /, "", text)
    list = $1; gsub(/[][]/, "", list); n = split(list, parts, ",")
    for (i = 1; i <= n; i++) { m = split(parts[i], ends, "-"); if (rank >= ends[1] && rank <= ends[m]) print text }
  }' out
}
folded=
for attempt in 1 2 3 4 5; do
  rm -f go
  background -n 4 --fold -- bash -c 'echo start; while [ ! -e go ]; do sleep 0.01; done; seq 1 2000; [ $RANK = 3 ] && echo "odd one"; echo end'
  wait_for grep -q start out
  sleep 0.3
  touch go
  finish
  expect 0 "fold"
  for rank in 0 1 2 3; do
    said_by $rank | cmp -s - <(echo start; seq 1 2000; [ $rank = 3 ] && echo "odd one"; echo end) ||
      die "fold: lines of rank $rank"
  done
  grep -q '^\[0-3\] 1000$' out && grep -qx '\[3\] odd one' out && folded=yes && break
done
[ "$folded" = yes ] || die "fold: not one of $attempt jobs was folded"

# Colours only where they are asked for.
run -n 2 --color always -- echo x
[ "$(grep -c $'^\e\\[3[26]m\\[[01]\\] \e\\[0mx$' out)" = 2 ] || die "colours"
run -n 2 -- echo x
! grep -q $'\e' out || die "colours into a file"

# Log files at the root and on nodes.
run -n 2 --show none --log-dir "logs/{job}" -- bash -c 'echo "out $RANK"; echo "err $RANK" >&2; printf end'
expect 0 "log files"
for rank in 0 1; do
  [ "$(cat logs/*/rank_000$rank.log | sort | tr '\n' ,)" = "end,err $rank,out $rank," ] || die "log file of rank $rank"
done
run -n 2 --log-dir "node:$work/there/{node}" --timestamps -- bash -c 'echo "out $RANK"'
expect 0 "log files on nodes"
[ "$(cut -d' ' -f2- there/localhost/rank_0001.log)" = "out 1" ] || die "log file on a node"
grep -q '\[1\] out 1' out || die "log files on nodes: output is shown too"
run -n 2 --log-dir /proc/nowhere -- true
expect 65 "a log folder that cannot be"
run -n 1 --log-dir "node:/proc/nowhere" -- echo on
expect 0 "a log folder that cannot be on a node"
[ "$(grep -c '1 of 1 log files is incomplete so far' err)" = 1 ] || die "said once"
[ "$(cat out)" = on ] || die "a log folder that cannot be on a node"
head -c 3000000 /dev/urandom >random
run -n 1 --log-dir logs -- cat random
cmp -s random out && cmp -s random logs/rank_0000.log || die "bytes in log files"

# A full disk is said once, and the job goes on.
if unshare -m true 2>/dev/null; then
  mkdir -p full
  cat >on_full_disk.sh <<'INNER'
mount -t tmpfs -o size=64k none full || exit 77
"$DSLAUNCH" -n 2 --log-dir "$1" --verdict verdict.json -- seq 1 50000 >out 2>err </dev/null
INNER
  for where in full "node:$work/full"; do
    DSLAUNCH=$dslaunch unshare -m bash on_full_disk.sh "$where"
    rc=$?
    [ "$rc" != 77 ] || { echo "skipped: no tmpfs can be mounted here"; break; }
    expect 0 "full disk ($where)"
    [ "$(wc -l <out)" = 100000 ] || die "full disk ($where): output"
    [ "$(grep -c 'cannot write .*: No space left on device; [12] of 2 log files' err)" = 1 ] || die "full disk ($where): said once"
    tail -n 1 err | grep -Eq '^dslaunch: (.*: )?[12] of 2 log files (is|are) incomplete: No space left on device$' ||
      die "full disk ($where): the last line says how many files are incomplete"
    grep -A 1 '"logs_incomplete": \[' verdict.json | grep -q 'of 2 log files' || die "full disk ($where): the verdict"
  done
else
  echo "skipped: no mount namespaces here; a full disk was not tried"
fi
run -n 2 --log-dir logs --verdict verdict.json -- true
grep -q '"logs_incomplete": \[\]' verdict.json || die "complete log files are not reported"
# Standard output on a full disk.
"$dslaunch" -n 2 -- seq 100000 >/dev/full 2>err </dev/null
rc=$?
expect 141 "standard output on a full disk"
grep -q 'standard output cannot be written: No space left on device' err || die "a full disk under standard output: why"
# Also when it is found only after the last rank has ended.
for _ in $(seq 15); do
  "$dslaunch" -n 1 -- echo one line >/dev/full 2>err </dev/null
  rc=$?
  expect 141 "one line on a full disk"
  grep -q 'standard output cannot be written: No space left on device' err || die "one line on a full disk: why"
done

# Many ranks and few open files: the soft limit is the ranks' own; the hard one ends the job with a word, and no rank
# ever gets the agent's channel as its output.
(ulimit -S -n 256; run -n 100 --oversubscribe --log-dir many -- bash -c 'ulimit -S -n; echo err >&2'
  expect 0 "a soft limit of 256 files") || exit 1
[ "$(cut -d' ' -f2 out | sort -u)/$(cat many/* | wc -l)" = 256/200 ] || die "ranks with a soft limit of 256 files"
sanitized || (ulimit -n 256; run -n 100 --oversubscribe -- bash -c 'echo text'
  expect 69 "a hard limit of 256 files") || exit 1
sanitized || grep -q 'Too many open files' err || die "a hard limit of 256 files: why"
echo "logs: prefixes, times, choice, folding, colours, files"
