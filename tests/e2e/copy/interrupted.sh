#!/usr/bin/env bash
# Tests that a copy goes on where it was interrupted by kill -9 of the root or of an agent, that no reader sees half a file,
# that a tree of nodes goes on when a node in it dies, and that a source over which a larger file is written meanwhile is an error.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
netns_need
dir=$(mktemp -d)
root=
trap '[ -z "$root" ] || kill -9 "$root" 2> /dev/null; netns_down; rm -rf "$dir"' EXIT
mkdir "$dir/disk"
netns_start_lines="mount -t tmpfs none $dir/disk"
netns_up "$dir" 4 || exit 1
fail() { echo "FAIL: $*"; cat "$dir/err"; exit 1; }
at() { local node=$1; shift; nsenter -m -t "$(cat "$dir/node$node/sshd.pid")" "$@"; }
copy_in_background() {
  : > "$dir/err"
  ip netns exec "$head_ns" "$DS_BIN/dslaunch" copy --ssh-config "$dir/ssh_config" "$@" > "$dir/out" 2> "$dir/err" < /dev/null &
  root=$!
}
finish() { status=0; wait "$root" || status=$?; root=; }
wait_for() {
  local tries
  for ((tries = 0; tries < 400; tries++)); do
    "$@" && return
    sleep 0.02
  done
  fail "gave up waiting for: $*"
}
part_size() { at "$1" stat -c %s "$dir/disk/.big.dslaunch-part" 2> /dev/null || echo 0; }
some_came() { [ "$(part_size "$1")" -gt 3000000 ]; }
# A slow network, so that the copy can be interrupted.
slow() { on_head tc qdisc replace dev "leg$1" root tbf rate 80mbit burst 64kb latency 50ms; }
fast() { on_head tc qdisc del dev "leg$1" root; }
command -v tc > /dev/null || { echo "SKIP: tc is not installed"; exit 77; }
on_head tc qdisc add dev leg1 root tbf rate 80mbit burst 64kb latency 50ms 2> /dev/null || { echo "SKIP: this kernel cannot slow a network down (tbf)"; exit 77; }
head -c 40000000 /dev/urandom > "$dir/big"

for victim in root agent; do
  slow 1
  copy_in_background -w node1 "$dir/big" "$dir/disk/"
  wait_for some_came 1
  at 1 test ! -e "$dir/disk/big" || fail "half a file has its name"
  if [ $victim = root ]; then
    kill -9 "$root"
    finish
  else
    kill -9 $(for pid in $(node_pids 1); do [ "$(cat "/proc/$pid/comm")" != dslaunch ] || echo "$pid"; done)
    finish
    [ "$status" = 69 ] || fail "$victim: exit $status"
    grep -q '^dslaunch: node1: lost: ' "$dir/err" || fail "the lost node is not named"
  fi
  gone() { [ -z "$(node_pids 1)" ]; }
  wait_for gone
  fast 1
  some_came 1 || fail "$victim: the part is gone"
  copy_in_background -w node1 "$dir/big" "$dir/disk/"
  finish
  [ "$status" = 0 ] || fail "$victim: exit $status"
  ! grep -q ': 38.1 MiB in' "$dir/err" || fail "$victim: everything was sent again"
  at 1 cmp "$dir/big" "$dir/disk/big" || fail "$victim: content"
  at 1 test ! -e "$dir/disk/.big.dslaunch-part" || fail "a part is left"
  at 1 rm "$dir/disk/big"
done

# A tree: the root sends to node1, node1 to node2 and so on. All come to the same bytes.
copy_in_background --tree 1 -w 'node[1-4]' "$dir/big" "$dir/disk/"
finish
[ "$status" = 0 ] || fail "the tree: exit $status"
grep -q 'to 4 of 4 nodes: 38.1 MiB' "$dir/err" || fail "the root sent more than one copy"
for n in 1 2 3 4; do at $n cmp "$dir/big" "$dir/disk/big" && at $n rm "$dir/disk/big" || fail "the tree: node$n"; done

# A node of the tree dies: the root sends the rest to its child, and says so.
# Prints a node that has a child: a connection to the port at which its program listens.
a_parent() {
  local n port
  for n in 1 2 3 4; do
    for port in $(on_node $n ss -Htln | awk '{ sub(/.*:/, "", $4); if ($4 != 22) print $4 }'); do
      [ -z "$(on_node $n ss -Htn state established "sport = :$port")" ] || { echo $n; return; }
    done
  done
}
for n in 1 2 3 4; do slow $n; done
copy_in_background --tree 1 -w 'node[1-4]' "$dir/big" "$dir/disk/"
last_has_some() { for n in 1 2 3 4; do some_came $n || return 1; done; }
wait_for last_has_some
parent=$(a_parent)
[ -n "$parent" ] || fail "no node sends to another"
kill -9 $(node_pids "$parent")
finish
for n in 1 2 3 4; do fast $n; done
[ "$status" = 69 ] || fail "a node of the tree dies: exit $status"
grep -q 'cannot get files from another node: .*; the root sends them$' "$dir/err" || fail "no line for the node without a parent"
lost=0
for n in 1 2 3 4; do at $n cmp -s "$dir/big" "$dir/disk/big" || lost=$((lost + 1)); done
[ $lost = 1 ] || fail "$lost nodes have no file"

# A firewall between the nodes: all get their files from the root.
for n in 2 3 4; do at $n rm -f "$dir/disk/big"; done
for n in 2 3 4; do for other in 2 3 4; do [ $n = $other ] || on_node $n ip route add unreachable "10.77.0.$((10 + other))"; done; done
copy_in_background --tree 1 -w 'node[2-4]' "$dir/big" "$dir/disk/"
finish
[ "$status" = 0 ] || fail "a firewall: exit $status"
[ "$(grep -c 'cannot get files from another node' "$dir/err")" = 2 ] || fail "a firewall: lines"
for n in 2 3 4; do at $n cmp "$dir/big" "$dir/disk/big" || fail "a firewall: node$n"; done

# A larger file is written over the source, in place, after its first bytes were sent. The inode is the same.
cp "$dir/big" "$dir/model"
part_size() { at "$1" stat -c %s "$dir/disk/.model.dslaunch-part" 2> /dev/null || echo 0; }
slow 1
copy_in_background -w node1 "$dir/model" "$dir/disk/"
wait_for some_came 1
head -c 50000000 /dev/urandom > "$dir/model"
fast 1
finish
[ "$status" = 1 ] || fail "a source that was written over: exit $status"
grep -qF "dslaunch: node1: $dir/model changed while it was copied; copy it again" "$dir/err" || fail "a source that was written over: no line"
at 1 test ! -e "$dir/disk/model" || fail "a mixture of two files has the name of the source"
echo "copy: resumed, and a tree that heals"
