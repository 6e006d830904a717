#!/usr/bin/env bash
# Spares and restarts between hosts of their own (network namespaces): a host that vanishes is replaced by the spare while
# the others keep their ranks, a bad one is replaced at the start, and a host whose ssh session broke is asked again.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
netns_need
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
netns_up "$dir" 3 || exit 1
launcher=$DS_BIN/dslaunch
failures=0
fail() { echo "FAIL: $case: $*"; sed 's/^/    /' "$dir/out" "$dir/err"; failures=$((failures + 1)); }
dslaunch() { on_head timeout 60 "$launcher" --ssh-config "$dir/ssh_config" --verdict "$dir/v.json" "$@" > "$dir/out" 2> "$dir/err" < /dev/null; }
want_status() { [ "$status" -eq "$1" ] || fail "exit $status, expected $1"; }
want() { grep -qE -- "$1" "$dir/$2" || fail "$2 has no line like: $1"; }
wait_for_lines() { # COUNT PATTERN: until the output has them
  local i
  for ((i = 0; i < 300; i++)); do
    [ "$(grep -cE -- "$2" "$dir/out")" -ge "$1" ] && return
    sleep 0.05
  done
  fail "the output does not come: $2"
}
break_sessions() { # NODE: kills its ssh sessions, not its sshd
  local pid
  for pid in $(ip netns pids "$(node_ns "$1")"); do
    [ "$(cat "/proc/$pid/comm" 2> /dev/null)" != sshd ] || [ "$pid" = "$(cat "$dir/node$1/sshd.pid")" ] || kill -9 "$pid"
  done
}
want_nothing_on() {
  local i node left
  for ((i = 0; i < 60; i++)); do
    left=
    for node in "$@"; do left+=$(node_pids "$node"); done
    [ -z "$left" ] && return
    sleep 0.1
  done
  for node in "$@"; do fail "left on node$node: $(for pid in $(node_pids "$node"); do tr '\0' ' ' < "/proc/$pid/cmdline"; echo; done)"; done
}
# Each rank tells its places; the first epoch waits for what happens to it.
export body='echo "up $DSLAUNCH_EPOCH rank $RANK of $WORLD_SIZE place $NODE_RANK.$LOCAL_RANK at $MASTER_ADDR on $(hostname)"
  [ $DSLAUNCH_EPOCH -gt 0 ] || exec sleep 55'

case="a host that vanishes, rank 0's own"
printf 'node1 slots=2\nnode2 slots=2\nnode3 slots=2\n' > "$dir/hosts"
: > "$dir/out"
dslaunch --hostfile "$dir/hosts" --spares 1 --max-restarts 1 --node-timeout 2s -- sh -c "$body" &
job=$!
wait_for_lines 4 'up 0'
ip -n "$head_ns" link set leg1 down
wait "$job"
status=$?
want_status 0
for rank in 0 1; do want "up 1 rank $rank of 4 place 0\.$rank at 10\.77\.0\.13 on node3" out; done
for rank in 2 3; do want "up 1 rank $rank of 4 place 1\.$((rank - 2)) at 10\.77\.0\.13 on node2" out; done
want '^dslaunch: node node1 is lost: .*; restart 1 of 1$' err
want '^dslaunch: node3 takes the place of node1 \(' err
want '^dslaunch: node1 could not be reached again' err
want '"sweep": "unreached"' v.json
want_nothing_on 1 2 3 # node1's agent has noticed too
ip -n "$head_ns" link set leg1 up

case="an ssh session that breaks, and no spare"
printf 'node1 slots=1\nnode2 slots=1\n' > "$dir/two"
: > "$dir/out"
dslaunch --hostfile "$dir/two" --max-restarts 1 -- sh -c "$body" &
job=$!
wait_for_lines 2 'up 0'
break_sessions 2
wait "$job"
status=$?
want_status 0
want 'up 1 rank 1 of 2 place 1\.0 at .* on node2' out
want '^dslaunch: node2 is back in its place$' err
want '"sweep": "done"' v.json
want_nothing_on 1 2

case="a lost agent that still stops a stubborn rank when its host is used again"
: > "$dir/out"
dslaunch --hostfile "$dir/two" --max-restarts 1 --grace 30s -- sh -c 'if [ $DSLAUNCH_EPOCH -eq 0 ]; then
    [ $RANK -eq 0 ] || trap "" TERM; echo "up 0"; exec sleep 54.321; fi
  [ $RANK -eq 0 ] || echo "of epoch 0: $(pgrep -fxc "sleep 54.321")"' &
job=$!
wait_for_lines 2 'up 0'
for ((i = 0; i < 300; i++)); do [ "$(pgrep -fxc 'sleep 54.321')" -lt 2 ] || break; sleep 0.02; done # the shells have become sleep
break_sessions 2
wait "$job"
status=$?
want_status 0
want 'of epoch 0: 0$' out
grep -q '"killed": 0' "$dir/v.json" && fail "the sweep has killed nothing"
want_nothing_on 1 2

case="a host whose link is down for longer than it takes to dial it once"
: > "$dir/out"
dslaunch --hostfile "$dir/two" --max-restarts 1 --node-timeout 1s --connect-timeout 1s -- sh -c "$body" &
job=$!
wait_for_lines 2 'up 0'
ip -n "$head_ns" link set leg2 down
sleep 5
ip -n "$head_ns" link set leg2 up
wait "$job"
status=$?
want_status 0
want '^dslaunch: node2 is back in its place$' err
want_nothing_on 1 2

case="a host that is dead at the start"
ip -n "$head_ns" link set leg2 down
: > "$dir/out"
dslaunch --hostfile "$dir/hosts" --spares 1 --connect-timeout 1s -- sh -c 'hostname'
status=$?
want_status 0
[ "$(sort "$dir/out")" = "[0] node1
[1] node1
[2] node3
[3] node3" ] || fail "not on node1 and node3"
want '^dslaunch: node3 takes the place of node2 \(node2: ' err

case="a dead host with slots=auto"
printf 'node%s slots=auto max-slots=1\n' 1 2 3 > "$dir/auto"
dslaunch --hostfile "$dir/auto" --spares 1 --connect-timeout 1s -- sh -c 'hostname'
status=$?
want_status 0
[ "$(sort "$dir/out")" = "[0] node1
[1] node3" ] || fail "not on node1 and node3"
want '^dslaunch: node2: .*; it becomes a spare host$' err
dslaunch --hostfile "$dir/auto" --connect-timeout 1s -- sh -c 'hostname'
status=$?
want_status 69
dslaunch --hostfile "$dir/auto" --timeout 3s -- sh -c 'hostname'
status=$?
want_status 124
want 'the deadline of 3 s has passed: still waiting for 1 of 3 hosts with slots=auto: node2$' err
ip -n "$head_ns" link set leg2 up
want_nothing_on 1 2 3

[ "$failures" -eq 0 ] && echo "spare hosts: all cases passed" || { echo "$failures failed"; exit 1; }
