#!/usr/bin/env bash
# Tests that `dslaunch exec` is a job for ps, tail, attach and kill.
set -u
. "$DS_SOURCE/tests/e2e/exec/loopback.sh"
. "$DS_SOURCE/tests/support/jobs.sh"
trap 'sshd_stop "$work/ssh"; end_jobs' EXIT
sleeper="export DS_TEST_COOKIE=$DS_TEST_COOKIE; echo up; [ %n = 2 ] || sleep 600"

start() {
  background exec --ssh-config "$work/ssh/ssh_config" -w '127.0.2.[1-3]' "$@" -- "$sleeper"
  listed() { id=$("$dslaunch" ps --ids) && [ -n "$id" ] && [ "$(column ranks_left "$id")" = 2 ]; }
  wait_for listed
}

start -b
run ps
tail -n 1 out | grep -Eq "^${id:0:8} +[0-9]+s +running +2/3 +3 +exec " || die "ps: $(cat out)"
held() { run tail "$id" --rank 1 && [ "$(sed 's/.* //' out)" = up ]; } # the output may come after the end of node 2
wait_for held
run kill "$id" --wait
expect 0 "kill"
finish
expect 143 "TERM by dslaunch kill"
nothing_left || die "kill returned before the commands were gone"

# An interrupt by kill is meant, and the code goes to whoever follows.
start -S
"$dslaunch" attach "$id" -n 10 >attached 2>attached.err &
attached=$!
wait_for grep -q up attached
run kill "$id" --signal INT
finish
expect 130 "INT by dslaunch kill"
wait "$attached"
[ $? = 130 ] || die "attach exits with its code"
grep -q 'stopped' attached.err || die "attach shows the results"
wait_for nothing_left

# Signals go to the commands.
background exec -w localhost -N -- 'trap "echo usr1; exit 3" USR1; echo up; while :; do sleep 0.05; done'
wait_for grep -q up out
"$dslaunch" kill "$("$dslaunch" ps --ids)" --signal USR1 || die "kill --signal"
finish
[ "$(cat out)" = "up
usr1" ] || die "USR1"
wait_for nothing_left
[ -z "$("$dslaunch" ps --ids)" ] || die "nothing is listed any more"
echo "ok"
