#!/usr/bin/env bash
# Ranks on hosts of their own (network namespaces): addresses, a name that means another address on each host, who
# listens where, and a host that vanishes.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
netns_need
dir=$(mktemp -d)
trap 'netns_down; rm -rf /etc/netns/$netns_prefix-node*; rm -rf "$dir"' EXIT
netns_up "$dir" 3 || exit 1
rank_program=$DS_TESTS/comm_rank
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
pids=()

# start RANK MODE [SECONDS]: on node RANK + 1
start() {
  RANK=$1 WORLD_SIZE=3 LOCAL_RANK=0 MASTER_PORT=29500 on_node $(($1 + 1)) "$rank_program" "${@:2}" > "$dir/$1.out" 2>&1 &
  pids[$1]=$!
}
# expect RANK CODE TEXT
expect() {
  wait "${pids[$1]}"
  local code=$?
  [ "$code" = "$2" ] || fail "rank $1 exits $code, not $2: $(cat "$dir/$1.out")"
  grep -q -- "$3" "$dir/$1.out" || fail "rank $1 does not say '$3': $(cat "$dir/$1.out")"
}
all_arrive() {
  for rank in 2 0 1; do start $rank once; done
  for rank in 0 1 2; do expect $rank 0 "rank $rank of 3: all bytes arrived"; done
}

unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT DSLAUNCH_JOB_KEY DSLAUNCH_EPOCH
export MASTER_ADDR=10.77.0.11
all_arrive
grep -q "^warning: no DSLAUNCH_JOB_KEY: any program that can reach 10.77.0.11:29500 can join this job" "$dir/0.out" ||
  fail "no warning without a key: $(cat "$dir/0.out")"
grep -q warning "$dir/1.out" "$dir/2.out" && fail "one warning is enough"

export DSLAUNCH_JOB_KEY=$(printf '0f%.0s' $(seq 32))
all_arrive
grep -q warning "$dir"/?.out && fail "a warning although there is a key"

# Debian's way: a host's own name is 127.0.1.1 on itself.
for node in 1 2 3; do
  mkdir -p "/etc/netns/$(node_ns $node)"
  [ $node = 1 ] && address=127.0.1.1 || address=10.77.0.11
  printf '127.0.0.1 localhost\n%s master\n' "$address" > "/etc/netns/$(node_ns $node)/hosts"
done
MASTER_ADDR=master all_arrive

for rank in 0 1 2; do start $rank for-ever 3; done
for rank in 0 1 2; do
  for ((i = 0; i < 300; i++)); do grep -q ready "$dir/$rank.out" && break; sleep 0.1; done
  grep -q ready "$dir/$rank.out" || fail "rank $rank never began: $(cat "$dir/$rank.out")"
done
if command -v ss > /dev/null; then
  for node in 1 2 3; do
    listeners=$(on_node $node ss -Hltnp | grep comm_rank | awk '{print $4}')
    for listener in $listeners; do
      case $listener in
        "10.77.0.1$node:"*) ;;
        *) fail "node$node listens at $listener" ;;
      esac
    done
    [ -n "$listeners" ] || fail "node$node listens nowhere"
  done
fi
ip -n "$head_ns" link set leg2 down
# Who was caught an operation earlier is missed too. A rank that is slow may find that the other one has already left for this reason.
expect 0 69 "no answer from .*rank 1\|rank 2 closed the connection"
expect 2 69 "no answer from .*rank 1\|rank 0 closed the connection"
grep -q "no answer from .*rank 1" "$dir/0.out" "$dir/2.out" || fail "nobody names rank 1"
kill -9 "${pids[1]}" 2> /dev/null

[ "$failures" -eq 0 ] && echo "ranks on hosts of their own: all as promised"
exit $((failures > 0))
