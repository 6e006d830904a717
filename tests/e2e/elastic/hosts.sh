#!/usr/bin/env bash
# --nodes MIN:MAX between hosts of their own (network namespaces with sshd): an agent that is killed, a host that vanishes,
# rank 0's own host, too few hosts, a host that is dead at the start.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
netns_need
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
netns_up "$dir" 4 || exit 1
launcher=$DS_BIN/dslaunch
failures=0
fail() { echo "FAIL: $case: $*"; sed 's/^/    /' "$dir/out" "$dir/err"; failures=$((failures + 1)); }
start() { # ARGS...: dslaunch in the background
  rm -f "$dir"/go.*
  : > "$dir/out"
  on_head timeout 90 "$launcher" --ssh-config "$dir/ssh_config" --verdict "$dir/v.json" "$@" > "$dir/out" 2> "$dir/err" < /dev/null &
  job=$!
}
finish() { # CODE
  wait "$job"
  status=$?
  [ "$status" -eq "$1" ] || fail "exit $status, expected $1"
}
want() { grep -qE -- "$1" "$dir/$2" || fail "$2 has no line like: $1"; }
wait_for_lines() { # FILE COUNT PATTERN
  local i
  for ((i = 0; i < 600; i++)); do
    [ "$(grep -cE -- "$3" "$dir/$1")" -ge "$2" ] && return
    sleep 0.05
  done
  fail "does not come in $1: $3"
}
end_epoch() { echo "$2" > "$dir/go.tmp"; mv "$dir/go.tmp" "$dir/go.$1"; } # EPOCH CODE
kill_agent() { # NODE: the agent with the parent of a shim, as kill -9 from outside
  local pid
  for pid in $(node_pids "$1"); do
    [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = dslaunch ] || [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = dsagent ] || continue
    kill -9 "$pid"
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
  fail "left on the hosts: $left"
}
export DSLAUNCH_RUNTIME_DIR=$dir/run
body='echo "epoch $DSLAUNCH_EPOCH rank $RANK of $WORLD_SIZE place $NODE_RANK.$LOCAL_RANK at $MASTER_ADDR on $(hostname)"
  while [ ! -e '$dir'/go.$DSLAUNCH_EPOCH ]; do sleep 0.02; done
  exit $(cat '$dir'/go.$DSLAUNCH_EPOCH)'
printf 'node%s slots=2\n' 1 2 3 4 > "$dir/hosts"

case="4 nodes, an agent is killed, 3 go on, it returns and joins"
start --hostfile "$dir/hosts" --nodes 2:4 -- sh -c "$body"
wait_for_lines out 8 'epoch 0 '
kill "$(cat "$dir/node2/sshd.pid")" # the listener: the host cannot be dialed for a while
kill_agent 2
wait_for_lines out 6 'epoch 1 '
netns_sshd 2
wait_for_lines err 1 'node2 is ready and joins at the next restart'
end_epoch 1 94
wait_for_lines out 8 'epoch 2 '
end_epoch 2 0
finish 0
for rank in 0 1; do want "epoch 1 rank $rank of 6 place 0\.$rank at 10\.77\.0\.11 on node1" out; done
for rank in 2 3; do want "epoch 1 rank $rank of 6 place 1\.$((rank - 2)) at 10\.77\.0\.11 on node3" out; done
for rank in 6 7; do want "epoch 2 rank $rank of 8 place 3\.$((rank - 6)) at 10\.77\.0\.11 on node2" out; done
want_nothing_on 1 2 3 4

case="a host that vanishes, rank 0's own; it returns"
start --hostfile "$dir/hosts" --nodes 2:4 --node-timeout 2s --connect-timeout 1s -- sh -c "$body"
wait_for_lines out 8 'epoch 0 '
ip -n "$head_ns" link set leg1 down
wait_for_lines out 6 'epoch 1 '
for rank in 0 1; do want "epoch 1 rank $rank of 6 place 0\.$rank at 10\.77\.0\.12 on node2" out; done
ip -n "$head_ns" link set leg1 up
wait_for_lines err 1 'node1 is ready and joins'
end_epoch 1 7
wait_for_lines out 8 'epoch 2 '
for rank in 6 7; do want "epoch 2 rank $rank of 8 place 3\.$((rank - 6)) at 10\.77\.0\.12 on node1" out; done
end_epoch 2 0
finish 0
want '; restart 1 of 3$' err
want_nothing_on 1 2 3 4

case="two hosts at once, below MIN: the job waits, and goes on when one is back"
start --hostfile "$dir/hosts" --nodes 3:4 --node-timeout 1s --connect-timeout 1s -- sh -c "$body"
wait_for_lines out 8 'epoch 0 '
for leg in 3 4; do ip -n "$head_ns" link set leg$leg down; done
wait_for_lines err 1 'waiting up to 10 min for hosts: 2 of at least 3 are ready'
ip -n "$head_ns" link set leg4 up
wait_for_lines out 6 'epoch 1 '
end_epoch 1 0
finish 0
ip -n "$head_ns" link set leg3 up
want_nothing_on 1 2 3 4

case="nobody comes back: the loss is the verdict"
start --hostfile "$dir/hosts" --nodes 4 --max-wait 3s --node-timeout 1s --connect-timeout 1s -- sh -c "$body"
wait_for_lines out 8 'epoch 0 '
ip -n "$head_ns" link set leg3 down
finish 69
want '^dslaunch: node node3 is lost: .*; 3 of at least 4 nodes are ready after 3 s$' err
ip -n "$head_ns" link set leg3 up
want_nothing_on 1 2 3 4

case="a host that is dead at the start joins later"
ip -n "$head_ns" link set leg2 down
start --hostfile "$dir/hosts" --nodes 2:4 --connect-timeout 1s --admit now -- sh -c "$body"
wait_for_lines out 6 'epoch 0 '
want '^beginning with 3 nodes; node2 is dialed again until the job ends$' err
ip -n "$head_ns" link set leg2 up
wait_for_lines out 8 'epoch 1 '
end_epoch 1 0
finish 0
want '^dslaunch: epoch 1: 4 nodes and 8 ranks \(before: 3 and 6\); node2 joins$' err
want_nothing_on 1 2 3 4

case="dslaunch scale adds a host that is reached by ssh, and removes one"
head -n 2 "$dir/hosts" > "$dir/two"
start --hostfile "$dir/two" --nodes 2:4 --grace 2s -- sh -c "$body"
wait_for_lines out 4 'epoch 0 '
on_head "$launcher" scale --add node3,node4:1 > "$dir/scale" 2>&1 || fail "scale: $(cat "$dir/scale")"
for node in 3 4; do wait_for_lines err 1 "node($node|\[3-4\]) (is|are) ready and join"; done
end_epoch 0 94
wait_for_lines out 7 'epoch 1 '
want 'epoch 1 rank 6 of 7 place 3\.0 at 10\.77\.0\.11 on node4' out
on_head "$launcher" scale --remove node1 > "$dir/scale" 2>&1 || fail "scale: $(cat "$dir/scale")"
wait_for_lines out 5 'epoch 2 '
want 'epoch 2 rank 0 of 5 place 0\.0 at 10\.77\.0\.12 on node2' out
end_epoch 2 0
finish 0
want_nothing_on 1 2 3 4

[ "$failures" -eq 0 ] && echo "elastic hosts: all cases passed" || { echo "$failures failed"; exit 1; }
