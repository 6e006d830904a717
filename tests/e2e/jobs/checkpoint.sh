#!/usr/bin/env bash
# Tests dslaunch checkpoint: only rank 0 of a train.toml job gets the order, on its rank channel; every client gets the result.
# dsrunner is a script here; tests/e2e/checkpoint/signals.sh tests what the engine saves.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/jobs.sh"
mkdir bin
cp "$dslaunch" bin/dslaunch
dslaunch=$work/bin/dslaunch
cat >bin/dsrunner <<'END'
#!/bin/bash
[[ "$1" == --check* ]] && exit 0
trap 'exit 143' TERM
tell() { printf '%s' "$*" >&"$DSLAUNCH_RANK_CHANNEL"; } # one datagram
step=0
wait_for() { while [ ! -e "$1" ]; do sleep 0.02; done; }
[ "$RANK" = 0 ] && wait_for go && echo "model    a script"
while :; do
  asked=
  # The first letter of a datagram; its rest is lost.
  read -r -t 0.05 -n 1 -u "$DSLAUNCH_RANK_CHANNEL" asked && echo "$asked $RANK" >>orders
  step=$((step + 1))
  [ "$RANK" = 0 ] || continue
  tell "step $step 1000000 50000 -1"
  [ -n "$asked" ] || continue
  [ -e leave ] && exit 7
  if [ -e full ]; then
    line="checkpoint: step $step failed, asked for: rank 1 on $HOSTNAME: disk full"
  else
    line="checkpoint: step $step saved in ck/step-$(printf %08d $step) (1.4 GiB, stall 12 ms, written in 3.1 s, asked for)"
  fi
  tell "checkpoint $line"
  echo "$line"
done
END
chmod +x bin/dsrunner
echo '[train]' >train.toml
# ask CODE TEXT ARGS...
ask() {
  local rc=0
  "$dslaunch" checkpoint "${@:3}" >said 2>err || rc=$?
  [ $rc = "$1" ] || die "dslaunch checkpoint ${*:3}: exit code $rc, not $1: $(cat said)"
  [ -z "$2" ] || grep -q -- "$2" said err || die "dslaunch checkpoint ${*:3} does not say '$2': $(cat said)"
}

detached -n 2 train.toml
# The order waits in the channel until rank 0 reads it.
ask 124 "did not report a checkpoint within 200 ms" "$id" --wait 200ms
touch go
told() { [ "$(column checkpoint "$id")" != null ] && [ -n "$(column checkpoint "$id")" ]; }
wait_for told # the request was kept
[ "$(cat orders)" = "s 0" ] || die "the first request: $(cat orders)"

ask 0 "^step [0-9]* saved in $work/ck/step-[0-9]* (1.4 GiB, stall 12 ms, written in 3.1 s)$" "$id"
ask 0 "saved in" # the only job
grep -v 's 0' orders && die "another rank than 0 got an order"
before=$(column checkpoint "$id")
ask 0 "" "$id" --wait 0
told_more() { [ "$(column checkpoint "$id")" != "$before" ]; }
wait_for told_more # the launcher has the news, which may come later than the line
touch full
ask 1 "could not save at step [0-9]*: rank 1 on .*: disk full" "$id"
rm full
[ "$(column step "$id")" -ge 1 ] || die "ps knows no step"

# Asked by two at once: both are told.
"$dslaunch" checkpoint "$id" >one 2>&1 &
ask 0 "saved in" "$id"
wait $! || die "the other: $(cat one)"

# Output of rank 0 is not needed; a job that ends instead says so; the verdict has step and checkpoint.
"$dslaunch" kill "$id" --wait 2>/dev/null
detached -n 2 --show 1 --verdict verdict train.toml
ask 0 "saved in" "$id"
touch leave
ask 69 "ended with code 7 before it reported a checkpoint" "$id"
rm leave
wait_for files_there verdict
grep -q "\"checkpoint\": \"$work/ck/step-" verdict || die "the verdict has no checkpoint: $(cat verdict)"
grep -q '"step": [0-9]' verdict || die "the verdict has no step"

# While a job waits for hosts, the answer comes at once.
cat >dial <<'END'
[ ! -e "down.$1" ] || exit 1
exec sh -c "$2"
END
rm -f orders
detached --transport "exec:sh $work/dial {host} {command}" --host a,b --nodes 2 train.toml
told_step() { [ "$(column step "$id")" -ge 1 ] 2>/dev/null; }
wait_for told_step
: >down.b
parent_of() { sed -n 's/^PPid:[[:space:]]*//p' "/proc/$1/status"; }
for pid in $(job_processes); do
  tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx RANK=1 && grep -q bin/dsrunner "/proc/$pid/cmdline" && rank=$pid
done
kill -9 "$(parent_of "$(parent_of "$rank")")" # the agent of b
waits() { grep -q "waiting up to" "dslaunch-$id.log"; }
wait_for waits
ask 69 "no ranks run, because the job waits for hosts (1 of 2 nodes is ready); ask again when the ranks run" "$id"
[ ! -e orders ] || die "a rank got an order"
"$dslaunch" kill "$id" --wait 2>/dev/null

# Jobs that do not train get no order.
detached -n 1 -- sleep 1000
ask 64 "runs a command, not a train.toml" "$id"
grep -q "kill ${id:0:8} -s USR1" err || die "no hint"
ask 64 "no running job" zzz
ask 64 "takes only one job" a b
is_over "$id" && die "the command was killed"
"$dslaunch" kill "$id" --signal KILL --wait 2>/dev/null
nothing_left || die "left: $(job_processes)"
echo "a running training saves when it is asked to"
