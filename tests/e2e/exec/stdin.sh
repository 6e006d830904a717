#!/usr/bin/env bash
# Tests standard input to every node: complete, with its end, also with dead, late or not reading nodes.
set -u
. "$DS_SOURCE/tests/e2e/exec/loopback.sh"
shopt -s lastpipe # fed, behind a pipe, sets rc here
hosts='127.0.2.[1-3]'
# fed HOSTS ARGS...: as exec_on, with this script's standard input.
fed() {
  local hosts=$1
  shift
  rc=0
  timeout 60 "$dslaunch" exec --ssh-config ssh/ssh_config -w "$hosts" "$@" >out 2>err || rc=$?
}

printf 'one\ntwo\n' | fed "$hosts" -b -- cat
expect 0 "a pipe"
out_is '---------------
127.0.2.[1-3] (3)
---------------
one
two' "a pipe goes to every node, and so does its end"
printf 'no newline' >file
fed 127.0.2.1 -N -- cat <file
[ "$(cat out)" = "no newline" ] || die "a file"
fed 127.0.2.1 -N -- wc -c </dev/null
out_is 0 "/dev/null is empty"
fed 127.0.2.1 -N -- wc -c <&-
out_is 0 "a closed standard input is empty"
echo text | fed 127.0.2.1 -N -n -- wc -c
out_is 0 "-n"
echo 127.0.2.1 | fed - -N -- wc -c
out_is 0 "a list of hosts took the input"

fed "$hosts" -- 'cat; echo end' </tmp
expect 1 "an input that cannot be read"
[ ! -s out ] || die "an input that cannot be read has no end"
[ "$(head -n 1 err)" = "dslaunch: cannot read standard input: Is a directory" ] || die "why it cannot be read"

# More than fits under way, whatever else happens: nodes that are not reached, that end, that begin late.
head -c 3000000 /dev/urandom >data
sum=$(sha256sum <data | cut -c1-64)
sums_are() { [ "$(grep -c ": $sum" out)" = "$1" ] || die "$2: not $1 whole copies"; }
fed "127.0.2.[1-4]" -- sha256sum <data
sums_are 3 "a node that refuses"
cat data | fed "$hosts" -- '[ %n = 1 ] || sha256sum'
sums_are 2 "a command that ends without reading"
cat data | fed "$hosts" -- 'if [ %n = 1 ]; then exec <&-; sleep 1; else sha256sum; fi'
sums_are 2 "a command that closes it"
cat data | fed "$hosts" -f 1 -- sha256sum
sums_are 3 "one node after the other"
cat data | TMPDIR=/nonexistent fed "$hosts" -f 1 -- sha256sum
expect 1 "nowhere to keep the input"
grep -q '^dslaunch: cannot keep standard input in /nonexistent: No such file or directory$' err &&
  grep -qF '127.0.2.[2-3] (2): not started' err || die "nowhere to keep the input: reason and results"
cat data | fed "$hosts" -- '[ %n != 1 ] || sleep 0.5; sha256sum'
sums_are 3 "a slow reader"
cat data | fed "$hosts" -- '[ %n != 1 ] || kill -9 $$; sha256sum'
sums_are 2 "a command that is killed"

# An input that does not end.
mkfifo pipe
exec 8<>pipe
fed "$hosts" -b -- echo done <pipe
expect 0 "the input does not end, the commands do"
grep -q '(3)' out || die "all have run"
# A terminal is left alone: what is typed is for whoever reads it next.
(sleep 0.3; echo typed) | timeout 60 script -qec "$dslaunch exec -N -w localhost -- wc -c" /dev/null >out 2>err ||
  die "a terminal"
tr -d '\r' <out | grep -qx 0 || die "a terminal is not read"
# A background job of a terminal is not stopped.
timeout 60 script -qec "bash -ic '$dslaunch exec -N -w localhost -- wc -c & wait'" /dev/null </dev/null >out 2>err
tr -d '\r' <out | grep -qx 0 || die "a background job"
echo "ok"
