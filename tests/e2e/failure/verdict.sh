#!/usr/bin/env bash
# The verdict: a block on standard error whose last line names the cause, and the same as JSON.
set -u
. "$DS_SOURCE/tests/support/launch.sh"

has() { # TEXT: the JSON has this line
  grep -qF -- "$1" v.json || die "v.json lacks: $1
$(cat v.json)"
}

# Success has no words, and a file.
echo old >v.json
run -n 2 --verdict v.json -- true
expect 0 "success"
[ ! -s err ] || die "success is silent"
has '"exit_code": 0,'
has '"kind": "none"'
has '"ranks": "[0-1]",'
[ -z "$(ls v.json.*.tmp 2>/dev/null)" ] || die "a temporary file is left"

# A short story stays short.
run --verdict v.json -- sh -c 'echo last words >&2; exit 7'
expect 7 "one rank"
[ "$(cat err)" = "last words
dslaunch: rank 0 on localhost: exited 7" ] || die "one rank, one line"
has '"exit_code": 7,'
has '"last words"'
has '"signal": null,'

# What a failed rank said is repeated once others have talked it off the screen, without its control bytes.
run -n 4 --verdict v.json -- bash -c '
  if [ $RANK = 2 ]; then
    for i in $(seq 30); do echo "line $i"; done; printf "bad \033[31mcolour\n" >&2; : >said
    while [ ! -e done.0 ]; do sleep 0.02; done; exit 3
  fi
  while [ ! -e said ]; do sleep 0.02; done
  for i in $(seq 50); do echo "rank $RANK talks about something for the ${i}th time"; done; sleep 0.3; : >done.$RANK; exec sleep 60'
expect 3 "a rank among others"
grep -q '^dslaunch: the last lines of rank 2:$' err || die "the last lines are not repeated"
[ "$(grep -c '^  | ' err)" = 20 ] || die "not the last 20 lines"
grep -qF '  | bad ?[31mcolour' err || die "control bytes"
! grep -q '^  | line 11$' err || die "more than the last lines"
grep -Eq '^dslaunch: rank 2: node rank 0, local rank 2, slot 2, process [0-9]+$' err || die "the place of the rank"
last_line_is "dslaunch: rank 2 on localhost: exited 3 (first failure); 3 ranks ended after it"
[ "$(awk '{ if (length > 100) print }' err)" = "" ] || die "lines too long"

# The rank's own error file, as PyTorch's @record writes it.
run -n 2 --verdict v.json -- bash -c '
  [ $RANK = 0 ] && exec sleep 60
  printf "{\"message\": {\"message\": \"ValueError: boom\", \"extraInfo\": {}}}" >"$TORCHELASTIC_ERROR_FILE"; exit 1'
expect 1 "error file"
grep -qF '  | {"message": {"message": "ValueError: boom"' err || die "the error file is not shown"
has '"message": "ValueError: boom",'

# Others that end in their own ways are folded.
run -n 8 --grace 1s --verdict v.json -- bash -c '
  case $RANK in 5) while [ "$(ls up.* | wc -l)" -lt 7 ]; do sleep 0.02; done; exit 9 ;; 6) trap "exit 4" TERM ;; 7) trap "" TERM ;; esac
  : >up.$RANK; while :; do sleep 0.05; done'
expect 9 "many ends"
grep -q '^dslaunch: the other ranks: \[0-4\] killed by SIGTERM; \[6\] exited 4; \[7\] killed by SIGKILL$' err || die "ends are not folded"
last_line_is "dslaunch: rank 5 on localhost: exited 9 (first failure); 7 ranks ended after it, 1 by KILL"
has '"ranks": "[0-4]",'

# A core and a signal; a host that cannot be used; a place that cannot be written.
run --verdict v.json -- bash -c 'ulimit -c 0; kill -SEGV $$'
expect 139 "signal"
has '"signal": "SIGSEGV",'
has '"exit_code": null,'
printf 'localhost\nnosuchname.invalid\n' >hosts
run --hostfile hosts --verdict v.json -- true
expect 69 "a bad host"
has '"kind": "unreachable",'
has '"end": "not started"'
run --verdict "$work/no/such/folder/v.json" -- touch started
expect 65 "no folder for the verdict"
[ ! -e started ] || die "the job ran without a place for its verdict"

# What is no file is written as it is, and stays: a pipe, a device, standard output.
mkfifo pipe
exec 3<>pipe 4<pipe # a reader from the start; the pipe holds what is written
run --verdict pipe -- sh -c 'exit 3' 3>&- 4<&-
expect 3 "a pipe for the verdict"
exec 3>&-
cat <&4 >v.json
exec 4<&-
[ -p pipe ] || die "the verdict has replaced a pipe"
has '"exit_code": 3,'
timeout 10 "$dslaunch" --verdict pipe -- true >out 2>err </dev/null || die "a pipe without a reader"
grep -q 'cannot write the verdict' err || die "a pipe without a reader is not told"
ln -s /proc/self/fd/1 stdout
run --verdict stdout -- echo hello
expect 0 "standard output for the verdict"
[ -L stdout ] || die "the verdict has replaced a link to standard output"
cp out v.json
grep -qx hello v.json || die "the verdict has removed what the rank wrote"
has '"kind": "none"'
(echo before && "$dslaunch" --verdict stdout -- echo hello && echo after) >out 2>err </dev/null || die "standard output of a script"
[ "$(head -n 3 out | tr '\n' ' ')$(tail -n 2 out | tr '\n' ' ')" = "before hello { } after " ] || die "the next command has overwritten the verdict"
run --verdict - -- touch started
expect 64 "- for the verdict"
[ ! -e - ] || die "the verdict went to a file called -"

# A bad host is replaced by a spare, and named.
printf 'localhost\nnosuchname.invalid\n127.0.0.1\n' >hosts
run --hostfile hosts --spares 1 --verdict v.json -- true
expect 0 "a spare for a bad host"
grep -q '^dslaunch: 127.0.0.1 takes the place of nosuchname.invalid (nosuchname.invalid: the name ' err || die "the bad host is not named"
has '"nosuchname.invalid by 127.0.0.1: '
run --hostfile hosts --spares 3 -- true
expect 65 "too many spares"
echo "verdict: short and long, JSON, error file, folded ends, bad hosts"
