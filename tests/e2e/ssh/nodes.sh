#!/usr/bin/env bash
# Tests the ssh transport between separate hosts (network namespaces): names, addresses, routes, loss of a node.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
netns_need
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
netns_up "$dir" 3 || exit 1
failures=0
fail() { echo "FAIL: $case: $*"; sed 's/^/    /' "$dir/out" "$dir/err"; failures=$((failures + 1)); }
run() {
  case=$1
  shift
  on_head timeout 60 "$DS_TESTS/ssh_probe" -F "$dir/ssh_config" "$@" > "$dir/out" 2> "$dir/err" < /dev/null
  status=$?
}
want_status() { [ "$status" -eq "$1" ] || fail "exit $status, expected $1"; }
want() { grep -qE -- "$1" "$dir/err" || fail "no message like: $1"; }

run "three hosts by name" -c hostname node1 node2 node3
want_status 0
[ "$(sort "$dir/out" | tr '\n' ' ')" = "node1 node2 node3 " ] || fail "wrong names"

# A host with a dead address in front of the good one: the next is tried a quarter of a second later.
echo "10.77.0.200 twice" >> "/etc/netns/$head_ns/hosts"
echo "10.77.0.11 twice" >> "/etc/netns/$head_ns/hosts"
echo "twice $(cut -d' ' -f1,2 "$dir/node1/host_key.pub")" >> "$dir/known_hosts"
run "two addresses, the first one dead" -c hostname twice
want_status 0
grep -q node1 "$dir/out" || fail "not node1"

# No way there: each reason is another.
on_head ip route add unreachable 10.98.0.0/16
on_head ip route add 10.99.0.0/16 via 10.77.0.13 # node3 forwards nothing: packets vanish
on_node 3 sysctl -q -w net.ipv4.ip_forward=0
run "no route, no answer, nobody listens" -t 1500 10.98.0.1 10.99.0.1 node2 head
want_status 69
want 'hosts=4 bad=3'
want '^unreachable: \[connection\] 10.98.0.1: cannot connect to port 22: 10.98.0.1: (No route to host|Network is unreachable)'
want '^unreachable: \[connection\] 10.99.0.1: cannot connect to port 22: no answer within 1.5 s'
want '^unreachable: \[connection\] head: cannot connect to port 22: 10.77.0.1: Connection refused'

# A node that vanishes: noticed by TCP itself within 10 s and a little, on an idle connection.
case="a node that vanishes"
on_head timeout 60 "$DS_TESTS/ssh_probe" -F "$dir/ssh_config" -c "touch '$dir/up'; sleep 50" node2 > "$dir/out" 2> "$dir/err" < /dev/null &
probe=$!
for ((i = 0; i < 200; i++)); do [ ! -e "$dir/up" ] || break; sleep 0.05; done
[ -e "$dir/up" ] || fail "the command did not start"
begin=$SECONDS
ip -n "$head_ns" link set leg2 down
wait "$probe"
status=$?
want_status 69
want '^lost: \[running\] node2: the ssh connection broke'
[ $((SECONDS - begin)) -le 20 ] || fail "noticed only after $((SECONDS - begin)) s"
ip -n "$head_ns" link set leg2 up

[ "$failures" -eq 0 ] && echo "ssh nodes: all cases passed" || { echo "$failures failed"; exit 1; }
