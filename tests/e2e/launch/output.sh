#!/usr/bin/env bash
# Tests output: whole lines with their rank, separate streams, and unchanged bytes of a single rank.
set -u
. "$DS_SOURCE/tests/support/launch.sh"

run -n 2 -- bash -c 'echo "out $RANK"; echo "err $RANK" >&2'
expect 0 "streams"
[ "$(sort out)" = "[0] out 0
[1] out 1" ] || die "standard output"
[ "$(sort err)" = "[0] err 0
[1] err 1" ] || die "standard error"

run -n 1 -- bash -c 'echo plain; echo bad >&2'
[ "$(cat out)" = plain ] && [ "$(cat err)" = bad ] || die "one rank has no prefix"

# Binary bytes of one rank.
head -c 3000000 "$dslaunch" >sent
run -n 1 -- cat sent
expect 0 "binary"
cmp -s sent out || die "binary output of one rank changed"

# Lines of 1 MB from four ranks at once.
run -n 4 -- bash -c 'for i in 1 2 3; do head -c 1000000 /dev/zero | tr "\0" "$RANK"; echo; done'
expect 0 "long lines"
[ "$(wc -l <out)" = 12 ] || die "long lines: $(wc -l <out) lines"
for rank in 0 1 2 3; do
  [ "$(grep -c "^\[$rank\] $rank*\$" out)" = 3 ] || die "long lines of rank $rank were mixed"
done
[ "$(wc -c <out)" = $((12 * 1000005)) ] || die "long lines: $(wc -c <out) bytes"

# The last line has no newline: nothing is lost and the lines stay apart.
run -n 3 -- bash -c 'printf "no newline %s" "$RANK"'
expect 0 "no newline"
[ "$(sort out)" = "[0] no newline 0
[1] no newline 1
[2] no newline 2" ] || die "no newline"
run -n 1 -- printf 'no newline'
[ "$(od -c out | head -n 1)" = "$(printf 'no newline' | od -c | head -n 1)" ] || die "no newline, one rank"

# A progress line is seen while the rank waits for it to be seen.
background -n 2 -- bash -c 'printf "half of %s\r" "$RANK"; while [ ! -e seen ]; do sleep 0.05; done; echo "all of $RANK"'
wait_for grep -q 'half of 0' out
wait_for grep -q 'half of 1' out
touch seen
finish
expect 0 "progress"
grep -q 'all of 0' out && grep -q 'all of 1' out || die "progress"

# The job goes on until all output is written.
run -n 2 -- seq 1 100000
expect 0 "much output"
[ "$(wc -l <out)" = 200000 ] || die "much output: $(wc -l <out) lines"
for rank in 0 1; do
  grep "^\[$rank\] " out | cut -d' ' -f2 | cmp -s - <(seq 1 100000) || die "much output of rank $rank"
done
echo "output: whole lines, apart, in order"
