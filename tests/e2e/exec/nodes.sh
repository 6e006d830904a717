#!/usr/bin/env bash
# Tests failing nodes: one has no network, one vanishes while its command runs; the others continue.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
netns_need
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
netns_up "$dir" 3 || exit 1
failures=0
fail() { echo "FAIL: $*"; sed 's/^/    /' "$dir/out" "$dir/err"; failures=$((failures + 1)); }
exec_on() {
  on_head timeout 60 "$DS_BIN/dslaunch" exec --ssh-config "$dir/ssh_config" "$@" > "$dir/out" 2> "$dir/err" < /dev/null
  status=$?
}

ip -n "$head_ns" link set leg3 down
exec_on -t 1 -S -w 'node[1-3]' -- hostname
[ "$status" = 69 ] || fail "exit $status"
[ "$(sort "$dir/out")" = "node1: node1
node2: node2" ] || fail "the others run"
grep -q '^dslaunch: 1 of 3 nodes was not reached:' "$dir/err" && grep -q '^  node3 .*connection .*no answer' "$dir/err" || fail "node3 is named"

# The kernel answers for nobody at these addresses: only the connect timeout ends the attempts, with one text.
for ((i = 100; i < 220; i++)); do ip -n "$head_ns" neigh add "10.77.0.$i" lladdr 02:00:00:00:00:01 dev br0; echo "10.77.0.$i lost$i"; done >> "/etc/netns/$head_ns/hosts"
exec_on -t 3 --node-timeout 1s --window 200 -S -w '10.77.0.[100-219]' -- hostname
grep -q '^  10\.77\.0\.\[100-219\] (120) .*connection .*no answer within 3 s$' "$dir/err" ||
  fail "the connect timeout ends a connection without an answer"
exec_on -t 1 --window 200 -S -w 'lost[100-219]' -- hostname
grep -q '^  lost\[100-219\] (120) .*connection .*no answer within 1 s$' "$dir/err" || fail "the time of lookups changes the text"

# When the commands run on both nodes, node2 vanishes.
vanish() {
  rm -f "$dir"/up.*
  (
    for ((i = 0; i < 600; i++)); do [ ! -e "$dir/up.0" ] || [ ! -e "$dir/up.1" ] || break; sleep 0.05; done
    ip -n "$head_ns" link set leg2 down
  ) &
}
vanish
exec_on -S --node-timeout 2s -w 'node[1-2]' -- ": > $dir/up.%n; sleep 4; hostname"
wait $!
[ "$status" = 69 ] || fail "exit $status after a node has vanished"
[ "$(cat "$dir/out")" = "node1: node1" ] || fail "the other goes on to its end"
grep -q 'node2: lost: ' "$dir/err" || fail "the lost node is named"
ip -n "$head_ns" link set leg2 up
for ((i = 0; i < 100; i++)); do
  [ -n "$(node_pids 2)" ] || break
  sleep 0.1
done
[ -z "$(node_pids 2)" ] || fail "something is left on the lost node"

for ((i = 0; i < 100; i++)); do on_head timeout 1 bash -c ': < /dev/tcp/node2/22' 2> /dev/null && break; done
vanish
exec_on --style pdsh -S --node-timeout 2s -w 'node[1-2]' -- ": > $dir/up.%n; sleep 4; hostname"
wait $!
[ "$status" = 255 ] && [ "$(cat "$dir/out")" = "node1: node1" ] || fail "pdsh's style, a node has vanished: exit $status"
grep -q '^node2: ssh: nothing heard' "$dir/err" && grep -q 'node2: ssh exited with exit code 255$' "$dir/err" ||
  fail "pdsh's style names the lost node"
[ "$failures" -eq 0 ] && echo "ok"
exit "$failures"
