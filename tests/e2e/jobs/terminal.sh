#!/usr/bin/env bash
# Tests a closing terminal, Ctrl-Z, nohup, and jobs started with `&`, on a pseudo-terminal of script(1).
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/jobs.sh"
if ! script -qec true /dev/null >/dev/null 2>&1; then
  echo "SKIP: no script(1), or no pseudo-terminal"
  exit 77
fi
# on_terminal COMMAND: by bash with job control, on a terminal of its own that closes at the end.
on_terminal() { SHELL=/bin/bash script -qec "$1" typescript >/dev/null 2>&1 </dev/null; }

# Started with `&` where background processes may not write: it writes all the same, and is never stopped.
on_terminal 'set -m; stty tostop; "$DS_BIN/dslaunch" -n 2 -- sh -c "echo from \$RANK; echo more >&2" & wait $!; echo "code $?" >code'
[ "$(cat code)" = "code 0" ] || die "a job in the background: $(cat code)"
[ "$(grep -c 'from [01]' typescript)" = 2 ] || die "a job in the background could not write"
# It does not take what is typed for the shell, and is not stopped for wanting to.
on_terminal 'set -m; "$DS_BIN/dslaunch" --stdin 0 -n 1 -- sh -c "touch up; while [ ! -e go ]; do sleep 0.02; done" &
  while [ ! -e up ]; do sleep 0.02; done; sleep 0.2; jobs -l >state; touch go; wait $!; echo "code $?" >code'
grep -q "Running" state || die "a job with --stdin in the background: $(cat state)"
[ "$(cat code)" = "code 0" ] || die "a job with --stdin in the background: $(cat code)"
rm -f up go
# (Without care it would have been stopped: so is a shell that writes there.)
on_terminal 'set -m; stty tostop; sh -c "echo from a shell" &
  for i in {1..500}; do jobs -l >state; grep -q "tty output" state && break; sleep 0.02; done; kill -9 %1'
grep -q "tty output" state || die "this terminal stops nobody, so this test proves nothing: $(cat state)"

# Rank 0 may redraw a line if standard output is a terminal, as wide as that is behind the prefix; not for a log file.
on_terminal 'stty rows 24 cols 80; "$DS_BIN/dslaunch" -n 2 -- sh -c "echo \$DSLAUNCH_LIVE >live.\$RANK"'
[ "$(cat live.0)" = 76 ] || die "a rank on a terminal of 80 columns may take $(cat live.0) behind its prefix"
on_terminal '"$DS_BIN/dslaunch" -n 2 -- sh -c "echo \$DSLAUNCH_LIVE >live.\$RANK" | tee log'
[ "$(cat live.0)" = 0 ] || die "a rank whose output goes to a file may redraw $(cat live.0) columns"

# The terminal closes: a detached job stays, one in the foreground is hung up.
on_terminal '"$DS_BIN/dslaunch" --detach -n 1 -- sh -c "touch up; while [ ! -e go ]; do sleep 0.02; done; echo went on" >id'
id=$(cat id)
wait_for files_there up
touch go
wait_for is_over "$id"
grep -q "went on" "dslaunch-$id.log" || die "a detached job did not outlive its terminal"
rm -f up go
# The shell that opened the terminal is killed: the kernel hangs up its foreground.
(on_terminal 'echo $$ >shell; trap "" HUP; (trap - HUP; exec "$DS_BIN/dslaunch" -n 1 -- bash -c "trap \"touch asked; exit 0\" TERM; touch up; while :; do sleep 0.02; done")') &
wait_for files_there up shell
kill -9 "$(cat shell)"
wait_for files_there asked
wait
rm -f up asked

# Ctrl-Z stops nothing where no shell could continue the job, as in `ssh -t node dslaunch ...`; otherwise the shell gets the
# terminal, and fg continues the job.
mkfifo keys
for shell in none bash; do
  body='"$DS_BIN/dslaunch" -n 1 -- sh -c "touch up; while [ ! -e go ]; do sleep 0.02; done; echo went on"'
  # A shell that stays: script(1) stops together with its child.
  [ $shell = none ] && body="$body; true" || body="set -m; $body; touch stopped; fg"
  SHELL=/bin/bash script -qec "$body" typescript >out 2>&1 <keys &
  terminal=$!
  exec 3>keys
  wait_for files_there up
  printf '\032' >&3
  wait_for grep -qF '^Z' out
  [ $shell = none ] || wait_for files_there stopped
  touch go
  ended() { ! kill -0 "$terminal" 2>/dev/null; }
  wait_for ended
  exec 3>&-
  grep -q "went on" out || die "Ctrl-Z, shell $shell: the job did not go on"
  rm -f up go
done
nothing_left || die "left after Ctrl-Z: $(job_processes)"

# nohup: a hangup means nothing.
(trap '' HUP; exec setsid "$dslaunch" -n 1 -- sh -c 'touch up; while [ ! -e go ]; do sleep 0.02; done; echo went on' >out 2>err </dev/null) &
launcher=$!
wait_for files_there up
kill -HUP "$launcher"
touch go
finish
expect 0 "nohup"
grep -q "went on" out || die "nohup: the job did not go on"
rm -f up go

# Ctrl-C: attach leaves the job alone; twice it stops it.
detached -n 1 -- bash -c 'trap "touch asked; exit 3" TERM; touch up; while :; do sleep 0.02; done'
wait_for files_there up
"$dslaunch" attach "$id" >attached 2>&1 &
attached=$!
ready() { [ "$(sed -n 's/^SigCgt:\t.*\([0-9a-f]\)$/\1/p' "/proc/$attached/status")" = 2 ]; }
wait_for ready
kill -INT "$attached"
rc=0
wait "$attached" || rc=$?
expect 130 "attach and Ctrl-C"
grep -q "detached; job ${id:0:8} is still running" attached || die "attach does not say that it detaches"
is_over "$id" && die "Ctrl-C of attach has ended the job"
"$dslaunch" attach "$id" >attached 2>&1 &
attached=$!
wait_for ready
kill -INT "$attached"
wait_for grep -q "Ctrl-C again" attached
kill -INT "$attached"
rc=0
wait "$attached" || rc=$?
expect 130 "attach and Ctrl-C twice"
files_there asked || die "Ctrl-C twice does not stop the job"
wait_for is_over "$id"
nothing_left || die "left: $(job_processes)"
echo "terminals that close, nohup, & and Ctrl-C do what they should"
