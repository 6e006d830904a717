#!/usr/bin/env bash
# Tests dslaunch kill: TERM with a grace, KILL without one, signals for ranks, suspended jobs, several jobs.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/jobs.sh"
stubborn='trap "touch asked.$RANK" TERM; trap "touch usr1.$RANK" USR1; touch up.$RANK
  while :; do sleep 0.02; done'
start() {
  rm -f up.* asked.* usr1.*
  detached -n 2 --grace 1000s -- bash -c "$stubborn"
  wait_for files_there up.0 up.1
}

start
"$dslaunch" kill "$id" --signal USR1 || die "kill --signal USR1"
wait_for files_there usr1.0 usr1.1
is_over "$id" && die "USR1 has ended the job"

# The grace of the job is longer than this test may take.
"$dslaunch" kill "$id" --grace 1s --wait 2>err || die "kill --grace"
grep -q "ended with code 143" err || die "kill --wait says no code"
files_there asked.0 asked.1 || die "the ranks got no TERM"

start
"$dslaunch" kill "$id" || die "kill"
wait_for files_there asked.0 asked.1
[ "$(column state "$id")" = stopping ] || die "a stopping job is $(column state "$id")"
"$dslaunch" kill "$id" --wait 2>/dev/null || die "a second kill"

start
"$dslaunch" kill "$id" --signal KILL --wait 2>/dev/null || die "kill --signal KILL"

# Suspended: listed as such, does not answer, and goes on.
start
pid=$(column pid "$id")
"$dslaunch" kill "$id" --signal STOP || die "kill --signal STOP"
wait_for is_stopped "$pid"
[ "$(column state "$id")" = suspended ] || die "a suspended job is $(column state "$id")"
"$dslaunch" kill "$id" --signal CONT || die "kill --signal CONT"
running() { [ "$(column state "$id")" = running ]; }
wait_for running
"$dslaunch" kill "$id" --signal STOP
wait_for is_stopped "$pid"
"$dslaunch" kill "$id" --grace 0 --wait 2>/dev/null || die "a suspended job cannot be killed"

# Several at once; what makes no sense is refused before anything is sent.
start
first=$id
start
"$dslaunch" kill "$id" zzz 2>/dev/null
is_over "$id" && die "a job was killed although another id was wrong"
"$dslaunch" kill "$first" "$id" zzz 2>err
grep -q "no running job has an id that begins with 'zzz'" err || die "kill of two jobs and a wrong id"
"$dslaunch" kill "$first" "$first" "${first:0:8}" --signal USR1 || die "a job that is named more than once"
"$dslaunch" kill "$first" "$id" --signal KILL --wait 2>/dev/null || die "kill of two jobs"
for words in "" "--signal NO x" "--grace x x" "--signal USR1 --grace 1 x"; do
  # shellcheck disable=SC2086
  "$dslaunch" kill $words 2>/dev/null
  [ $? = 64 ] || die "dslaunch kill $words: exit code $?, not 64"
done
nothing_left || die "left: $(job_processes)"
echo "signals reach jobs by their ids"
