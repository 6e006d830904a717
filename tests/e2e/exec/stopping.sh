#!/usr/bin/env bash
# Tests that stopped commands leave no processes: timeout, -k, Ctrl-C, TERM, and a closed output.
set -u
. "$DS_SOURCE/tests/e2e/exec/loopback.sh"
# What runs on the nodes carries the cookie of this script.
sleeper="export DS_TEST_COOKIE=$DS_TEST_COOKIE; sleep 600 & setsid sleep 600 & echo up; wait"

exec_on '127.0.2.[1-3]' -S -u 1 -- "[ %n != 1 ] || exit 0; $sleeper"
expect 124 "time is up"
err_is "dslaunch: 127.0.2.[1,3] (2): stopped at the time limit (-u)" "time is up"
wait_for nothing_left

exec_on '127.0.2.[1-3]' -k -- "[ %n != 1 ] || exit 7; $sleeper"
expect 7 "-k gives the code of the first failure"
[ "$(head -n 1 err)" = "dslaunch: 127.0.2.2: exited 7" ] || die "-k names the failure first"
wait_for nothing_left

background exec --ssh-config "$work/ssh/ssh_config" -w '127.0.2.[1-3]' -- "$sleeper"
all_up() { [ "$(grep -c up out)" = 3 ]; }
wait_for all_up
kill -TERM "$launcher"
finish
expect 143 "TERM"
err_is "dslaunch: 127.0.2.[1-3] (3): stopped" "TERM"
wait_for nothing_left

background exec --ssh-config "$work/ssh/ssh_config" -w '127.0.2.[1-3]' -- "trap '' TERM; $sleeper; sleep 600"
wait_for all_up
kill -KILL "$launcher"
finish
wait_for nothing_left

# On a terminal the first Ctrl-C asks, the second stops.
command -v script >/dev/null || die "script (bsdutils) is missing"
mkfifo keys
: >out # the three lines of before must not be taken for this run's: its terminal might not be there yet
script -qec "$dslaunch exec --ssh-config $work/ssh/ssh_config -w '127.0.2.[1-3]' -- '$sleeper'" /dev/null <keys >out 2>err &
terminal=$!
exec 3>keys
wait_for all_up
printf '\003' >&3
asked() { grep -q 'once more within 1 s' out; }
wait_for asked
grep -q '127.0.2.\[1-3\] (3): running' out || die "Ctrl-C lists who runs"
kill -0 "$terminal" || die "one Ctrl-C on a terminal stops nothing"
sleep 1.2 # too late to be the second one: it asks again
printf '\003' >&3
asked_again() { [ "$(grep -c 'once more within 1 s' out)" = 2 ]; }
wait_for asked_again
# Two within 0.3 s count as one. On a busy machine the next one may come after more than 1 s, and asks again; then one more.
trap '' PIPE
for ((i = 0; i < 50; i++)); do
  sleep 0.4
  kill -0 "$terminal" 2>/dev/null || break
  printf '\003' 2>/dev/null >&3
done
trap - PIPE
rc=0
wait "$terminal" || rc=$?
exec 3>&-
expect 130 "two Ctrl-C"
wait_for nothing_left

timeout 20 "$dslaunch" exec --ssh-config "$work/ssh/ssh_config" -w '127.0.2.[1-3]' -- "export DS_TEST_COOKIE=$DS_TEST_COOKIE; yes" 2>err |
  head -n 3 >out
[ "${PIPESTATUS[0]}" = 141 ] || die "nobody reads any more"
[ "$(wc -l <out)" = 3 ] || die "what was read before"
wait_for nothing_left

# Output that cannot be written is not lost in silence, also when only the end finds out.
for fold in '' -b; do
  rc=0
  "$dslaunch" exec --ssh-config "$work/ssh/ssh_config" -w 127.0.2.1 $fold -- echo x >/dev/full 2>err || rc=$?
  expect 141 "a full disk"
  grep -q '^dslaunch: standard output cannot be written: No space left on device' err || die "a full disk is named"
done
echo "ok"
