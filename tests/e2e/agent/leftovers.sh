#!/usr/bin/env bash
# Tests sweeps: what killed or stopped chains of guard, agent and shims leave is found by its cookie, killed and counted,
# by the next agent of this user or at the launcher's request. Living jobs are left alone.
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

"$probe" "$dslaunch" --job "$id-alive" -- bash -c 'touch alive; exec sleep 100' >alive.out 2>&1 &
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
# A chain that was stopped as a whole, ranks and all, is found, killed and counted; so is one whose rank has ended.
# Stopped chains of other jobs are left alone: a scheduler may have suspended them.
# stop_chain JOB: sets $chain to guard, agent, shim and main process, all in state T, and $probed.
stop_chain() {
  rm -f up.0
  "$probe" "$dslaunch" --job "$1" -- bash -c ': >up.$RANK; sleep 75.'$$'; :' >stop.out 2>&1 &
  probed=$!
  wait_for files_there up.0
  wait_for helpers_are 1
  local guard agent shim main
  guard=$(pgrep -P "$probed") && agent=$(pgrep -P "$guard") && shim=$(pgrep -P "$agent") && main=$(pgrep -P "$shim")
  chain="$guard $agent $shim $main"
  # shellcheck disable=SC2086
  kill -STOP $chain
}
# so many of the chain are there and not zombies
chain_is() {
  local pid count=0
  for pid in $chain; do
    grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$pid/status" 2>/dev/null && count=$((count + 1))
  done
  [ "$count" = "$1" ]
}
stop_chain "$id-stopped"
"$probe" "$dslaunch" --sweep "$id" >out 2>err
grep -qx 'Swept 0' out || die "a stopped chain of another job"
"$probe" "$dslaunch" -- true >out 2>err
grep -q Swept out && die "a new job kills a suspended one"
chain_is 4 || die "a suspended chain was killed: $chain"
"$probe" "$dslaunch" --sweep "$id-stopped" >out 2>err
grep -qx 'Swept 5' out || die "guard, agent, shim, main process and its child were stopped"
chain_is 0 || die "still there: $chain"
wait "$probed"
helpers_are 0 || die "still there: a child of a stopped rank"
stop_chain "$id-stopped"
kill -KILL "${chain##* }" # the rank: three stopped links, of which nothing has the cookie
pkill -f "sleep 75\.$$\$"
"$probe" "$dslaunch" --sweep "$id-stopped" >out 2>err
grep -qx 'Swept 3' out || die "guard, agent and shim were stopped"
chain_is 0 || die "still there: $chain"
wait "$probed"

# Guard and agent are killed, shim and rank stopped. Linux may let the shim go on, because its process group has become an orphan,
# and it kills its rank. Else the next agent takes the shim for dead, too.
stop_chain "$id-stopped"
# shellcheck disable=SC2086
set -- $chain
kill -KILL "$2" "$1"
"$probe" "$dslaunch" -- true >out 2>err
wait_for chain_is 0
wait "$probed"
helpers_are 0 || die "still there: a child of a stopped rank"

kill "$alive"
wait "$alive" 2>/dev/null
folder_is_empty() { [ -z "$(ls "$DSLAUNCH_RUNTIME_DIR")" ]; }
wait_for folder_is_empty
echo "leftovers: swept at the start of the next agent and on demand, living jobs left alone"
