#!/usr/bin/env bash
# Guard, agent and shims of a job are killed at once: what they leave is found by its cookie and killed by the
# next agent of this user, or when the launcher asks for it; a living job is left alone.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
probe="$DS_TESTS/agent_probe"
# Agents of others on this machine look elsewhere.
export DSLAUNCH_RUNTIME_DIR="$work/run"
unset DSLAUNCH_COOKIE
id="sweep$$"

# kill_links GUARD: it, its agent and all shims; stopped first, so that none can act.
kill_links() {
  local agent shims
  agent=$(pgrep -P "$1")
  shims=$(pgrep -P "$agent" | tr '\n' ' ')
  # shellcheck disable=SC2086
  kill -STOP "$1" "$agent" $shims && kill -KILL $shims "$agent" "$1"
}

helpers_are() {  # so many, without a cookie
  [ "$(pgrep -cf "^sleep 75\.$$\$")" = "$1" ]
}

# leave JOB: a job of two ranks loses all its links. Main processes die with their shims; helpers stay behind,
# with below them a process that has thrown the cookie away.
leave() {
  rm -f up.*
  "$probe" "$dslaunch" --job "$1" -n 2 -- bash -c \
    '(trap "" TERM; env -i sleep 75.'$$' & touch up.$RANK; wait) & wait' >leave.out 2>&1 &
  local probed=$!
  wait_for files_there up.0 up.1
  wait_for helpers_are 2
  kill_links "$(pgrep -P $probed)"
  wait $probed
  helpers_are 2 || die "nothing was left to sweep"
}

processes_of() {  # job $1, by its cookie
  local folder
  for folder in /proc/[0-9]*; do
    grep -qsz "^DSLAUNCH_COOKIE=$1\." "$folder/environ" && echo "${folder#/proc/}"
  done
}

all_swept() {
  [ -z "$(processes_of "$id")" ] || die "still there: $(processes_of "$id")"
  helpers_are 0 || die "still there: a process without cookie"
  [ -n "$(processes_of "$id-alive")" ] || die "a living job was swept"
}

"$probe" "$dslaunch" --job "$id-alive" -- bash -c 'touch alive; exec sleep 30' >alive.out 2>&1 &
alive=$!
wait_for files_there alive

leave "$id"
"$probe" "$dslaunch" -- true >out 2>err
grep -qx 'Swept 4' out || die "the next agent's sweep: not 2 helpers and what is below them"
all_swept
"$probe" "$dslaunch" -- true >out 2>err
grep -q Swept out && die "swept a second time"

# By job only, and without the sign in the folder.
leave "$id"
rm -r "$DSLAUNCH_RUNTIME_DIR/agent-$id."*
"$probe" "$dslaunch" --sweep "$id-other" >out 2>err
grep -qx 'Swept 0' out || die "another job's sweep"
"$probe" "$dslaunch" --sweep "$id" >out 2>err
grep -qx 'Swept 4' out || die "the launcher's sweep"
all_swept
[ -z "$(find /sys/fs/cgroup -maxdepth 3 -name "dslaunch-$id.*" 2>/dev/null)" ] || die "a cgroup is left"
kill "$alive"
wait "$alive" 2>/dev/null
folder_is_empty() { [ -z "$(ls "$DSLAUNCH_RUNTIME_DIR")" ]; }
wait_for folder_is_empty
echo "leftovers: swept at the start of the next agent and on demand, living jobs left alone"
