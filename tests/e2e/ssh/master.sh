#!/usr/bin/env bash
# Tests MASTER_ADDR between separate hosts (network namespaces) with two networks: the address that all nodes reach is
# chosen, a network can be named, and if none is reached a table says so before any rank starts.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
netns_need
dir=$(mktemp -d)
stranger=
trap '[ -z "$stranger" ] || kill "$stranger" 2> /dev/null; netns_down; rm -rf "$dir"' EXIT
netns_up "$dir" 3 || exit 1
launcher=$DS_BIN/dslaunch
helper=$DS_TESTS/net_helper
printf 'node1\nnode2\nnode3\n' > "$dir/hosts"
failures=0
fail() { echo "FAIL: $case: $*"; sed 's/^/    /' "$dir/out" "$dir/err"; failures=$((failures + 1)); }
run() {
  case=$1
  shift
  on_head timeout 60 "$launcher" --ssh-config "$dir/ssh_config" --hostfile "$dir/hosts" "$@" > "$dir/out" 2> "$dir/err" < /dev/null
  status=$?
}
want_status() { [ "$status" -eq "$1" ] || fail "exit $status, expected $1"; }
want() { grep -qE -- "$1" "$dir/$2" || fail "$2 has no line like: $1"; }
want_no_output() { [ ! -s "$dir/out" ] || fail "a rank ran"; }
want_met_at() {
  want_status 0
  for rank in 0 1 2; do want "rank $rank of 3 met at $1 on node$((rank + 1))\$" out; done
}
# May the nodes reach each other over the first (leg) or the second (wire) network? The head always reaches all.
separate() {
  local i
  for i in 1 2 3; do ip -n "$head_ns" link set "$1$i" type bridge_slave isolated "$2"; done
}

# The second network, of which the head knows nothing: 10.78.0.11 ... at eth1.
ip -n "$head_ns" link add br1 type bridge
ip -n "$head_ns" link set br1 up
for i in 1 2 3; do
  ip -n "$(node_ns "$i")" link add eth1 type veth peer name "wire$i" netns "$head_ns"
  ip -n "$(node_ns "$i")" address add "10.78.0.$((10 + i))/16" dev eth1
  ip -n "$(node_ns "$i")" link set eth1 up
  ip -n "$head_ns" link set "wire$i" master br1 up
done
separate leg off 2> /dev/null || { echo "SKIP: bridges of this system cannot separate their ports"; exit 77; }

run "the address by which the launcher came, when all reach it" -- "$helper" meet
want_met_at '10\.77\.0\.11'

separate leg on
run "the other network, when the first one answers nothing between nodes" -- "$helper" meet
want_met_at '10\.78\.0\.11'

separate leg off
ip -n "$(node_ns 3)" route add unreachable 10.77.0.11/32
run "the other network, when one node alone has no way" -- "$helper" meet
want_met_at '10\.78\.0\.11'
ip -n "$(node_ns 3)" route del unreachable 10.77.0.11/32

show='echo "$MASTER_ADDR $GLOO_SOCKET_IFNAME $NCCL_SOCKET_IFNAME"; exec "$0" meet'
run "an interface by its name" --iface eth1 -- sh -c "$show" "$helper"
want_met_at '10\.78\.0\.11'
[ "$(grep -cE '10\.78\.0\.11 eth1 =eth1$' "$dir/out")" = 3 ] || fail "the interface is not in the environment of all ranks"
run "what the user says of Gloo stays" --iface eth1 -x GLOO_SOCKET_IFNAME=eth0 -- sh -c "$show" "$helper"
[ "$(grep -cE '10\.78\.0\.11 eth0 =eth1$' "$dir/out")" = 3 ] || fail "GLOO_SOCKET_IFNAME was changed"

ip -n "$(node_ns 3)" link set eth1 down
ip -n "$(node_ns 3)" link set eth1 name fast3
ip -n "$(node_ns 3)" link set fast3 up
run "a network, whatever its interfaces are called" --iface 10.78.0.0/16 -- sh -c "$show" "$helper"
want_met_at '10\.78\.0\.11'
want '10\.78\.0\.11 eth1 =eth1$' out
want '10\.78\.0\.11 fast3 =fast3$' out
run "a node without the interface is named" --iface eth1 -- echo ran
want_status 69
want 'node3: no interface named eth1 \(it has .*fast3' err
want_no_output

again='[ "$DSLAUNCH_EPOCH" = 1 ] || { [ "$RANK" != 2 ] || exit 7; sleep 50; }; exec "$0" meet'
run "after a restart they meet at the same address" --max-restarts 1 -- sh -c "$again" "$helper"
want_met_at '10\.77\.0\.11'

separate leg on
separate wire on
run "when no address is reached by all, a table says so and no rank starts" -- echo ran
want_status 69
want '^dslaunch: no address of node1 is reached by all other nodes:$' err
want '^  node\[2-3\]: 10\.77\.0\.11 \(eth0\): (no answer within 2 s|No route to host); 10\.78\.0\.11 \(eth1\): (no answer|No route)' err
want '--iface names the network' err
want_no_output
run "an address that is given is not tested" --master-addr node1 --master_port 4711 -- sh -c 'echo "$MASTER_ADDR:$MASTER_PORT"'
want_status 0
[ "$(grep -c 'node1:4711$' "$dir/out")" = 3 ] || fail "not every rank has what was given"
separate leg off

run "a port that is given is tested and held" --master-port 4712 -- sh -c '"$0" meet && echo "at $MASTER_PORT"' "$helper"
want_met_at '10\.77\.0\.11'
[ "$(grep -c 'at 4712$' "$dir/out")" = 3 ] || fail "another port"
on_node 1 "$helper" silent 0.0.0.0 4713 &
stranger=$!
for ((i = 0; i < 100; i++)); do
  on_node 1 bash -c 'exec 3<> /dev/tcp/127.0.0.1/4713' 2> /dev/null && break
  sleep 0.05
done
run "a port that is taken ends the job before it begins" --master-port 4713 -- echo ran
want_status 69
want 'node1: cannot bind port 4713 for MASTER_PORT: Address already in use' err
want_no_output

[ "$failures" -eq 0 ] && echo "where ranks meet: all cases passed" || { echo "$failures failed"; exit 1; }
