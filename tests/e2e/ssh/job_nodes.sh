#!/usr/bin/env bash
# Tests jobs over ssh between separate hosts (network namespaces): ranks meet at MASTER_ADDR, every bad host is named, a
# node that vanishes or whose ssh session is killed ends the job, and no process is left.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
netns_need
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
netns_up "$dir" 3 || exit 1
launcher=$DS_BIN/dslaunch
helper=$DS_TESTS/net_helper
printf 'node1 slots=2\nnode2 slots=1\nnode3 slots=2\n' > "$dir/hosts"
failures=0
fail() { echo "FAIL: $case: $*"; sed 's/^/    /' "$dir/out" "$dir/err"; failures=$((failures + 1)); }
dslaunch() { on_head timeout 60 "$launcher" --ssh-config "$dir/ssh_config" "$@" > "$dir/out" 2> "$dir/err" < /dev/null; }
# In the background, on the three hosts, until all five ranks are up; sets job.
start_long_job() {
  : > "$dir/out" # the output of the case before must not be taken for this one's
  dslaunch --hostfile "$dir/hosts" -- sh -c 'echo up; sleep 55' &
  job=$!
  wait_for_lines 5 up
}
run() {
  case=$1
  shift
  dslaunch "$@"
  status=$?
}
want_status() { [ "$status" -eq "$1" ] || fail "exit $status, expected $1"; }
want() { grep -qE -- "$1" "$dir/$2" || fail "$2 has no line like: $1"; }
wait_for_lines() { # COUNT PATTERN: until the output has them
  local i
  for ((i = 0; i < 300; i++)); do
    [ "$(grep -cE -- "$2" "$dir/out")" -ge "$1" ] && return
    sleep 0.05
  done
  fail "the job did not start"
}
# Nothing of the job is left on the nodes named, within 5 s.
want_nothing_on() {
  local i node left
  for ((i = 0; i < 50; i++)); do
    left=
    for node in "$@"; do left+=$(node_pids "$node"); done
    [ -z "$left" ] && return
    sleep 0.1
  done
  for node in "$@"; do fail "left on node$node: $(for pid in $(node_pids "$node"); do tr '\0' ' ' < "/proc/$pid/cmdline"; echo; done)"; done
}

run "five ranks on three hosts meet at MASTER_ADDR" --hostfile "$dir/hosts" -- "$helper" meet
want_status 0
for rank in 0 1 2 3 4; do want "rank $rank of 5 met at 10\.77\.0\.11 on node" out; done
want 'rank 0 .* on node1$' out
want 'rank 2 .* on node2$' out
want 'rank 4 .* on node3$' out
want_nothing_on 1 2 3

printf '10.77.0.1 slots=1\nnode2 slots=1\n' > "$dir/with_head"
run "an own address as rank 0 needs no ssh, and the others reach it" --hostfile "$dir/with_head" -- "$helper" meet
want_status 0
want 'rank 1 of 2 met at 10\.77\.0\.1 ' out

run "a rank that fails ends the ranks on all hosts" --hostfile "$dir/hosts" -- sh -c '[ "$RANK" != 4 ] || exit 7; sleep 50'
want_status 7
want 'rank 4 on node3' err
want_nothing_on 1 2 3

printf 'node1\n10.98.0.1\nhead\nnode2\nnosuchname\n' > "$dir/bad"
on_head ip route add unreachable 10.98.0.0/16
run "all bad hosts at once" --hostfile "$dir/bad" -- true
want_status 69
want '10.98.0.1 +connection +.*(No route to host|Network is unreachable)' err
want 'head +connection +.*Connection refused' err
want 'nosuchname +name lookup +.*cannot be looked up' err
want_nothing_on 1 2

case="a node that vanishes"
start_long_job
begin=${EPOCHREALTIME/./}
ip -n "$head_ns" link set leg2 down
until grep -q node2 "$dir/err" || ! kill -0 "$job" 2> /dev/null; do sleep 0.05; done
ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
wait "$job"
status=$?
want_status 69
want 'node2' err
echo "the loss of a node's power was noticed after $ms ms"
[ "$ms" -le 10000 ] || fail "noticed only after $ms ms" # promised; 8 s of silence by default
want_nothing_on 1 3
want_nothing_on 2 # its agent has noticed too: no heartbeat from the head
ip -n "$head_ns" link set leg2 up

case="an ssh session that is killed"
start_long_job
killed=0
for pid in $(ip netns pids "$(node_ns 3)"); do
  [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = sshd ] && [ "$pid" != "$(cat "$dir/node3/sshd.pid")" ] || continue
  kill -9 "$pid" && killed=$((killed + 1))
done
[ "$killed" -gt 0 ] || fail "no session of sshd was found on node3"
wait "$job"
status=$?
want_status 69
want 'node3' err
want_nothing_on 1 2 3

[ "$failures" -eq 0 ] && echo "jobs between hosts: all cases passed" || { echo "$failures failed"; exit 1; }
