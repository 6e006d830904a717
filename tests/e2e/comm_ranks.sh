#!/usr/bin/env bash
# Ranks that find each other from plain environment variables; one killed, stopped, or with another key is named.
set -u
rank_program=$DS_TESTS/comm_rank
folder=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null; done
  rm -rf "$folder"
}
trap finish EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# start RANK WORLD MODE [SECONDS]: output in $folder/RANK.out, the process in pids[RANK]
start() {
  RANK=$1 WORLD_SIZE=$2 LOCAL_RANK=$1 "$rank_program" "${@:3}" >"$folder/$1.out" 2>&1 &
  pids[$1]=$!
}
# expect RANK CODE TEXT: the rank ends with the code and says the text
expect() {
  wait "${pids[$1]}"
  local code=$?
  [ "$code" = "$2" ] || fail "rank $1 exits $code, not $2: $(cat "$folder/$1.out")"
  grep -q -- "$3" "$folder/$1.out" || fail "rank $1 does not say '$3': $(cat "$folder/$1.out")"
}
# A world of three that has begun to exchange; each exchange may take $1 seconds.
start_three() {
  export MASTER_PORT=$("$rank_program" free-port)
  for rank in 0 1 2; do start $rank 3 for-ever "$1"; done
  for rank in 0 1 2; do
    for _ in $(seq 300); do
      grep -q ready "$folder/$rank.out" && break
      sleep 0.1
    done
    grep -q ready "$folder/$rank.out" || fail "rank $rank never began: $(cat "$folder/$rank.out")"
  done
}

unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT DSLAUNCH_JOB_KEY DSLAUNCH_EPOCH
[ "$("$rank_program" once)" = "rank 0 of 1: all bytes arrived" ] || fail "alone, with no variable set"
RANK=0 "$rank_program" once 2>"$folder/err"
[ $? = 65 ] || fail "half an environment must exit 65"
grep -q "WORLD_SIZE is not set, but RANK is" "$folder/err" || fail "half an environment: $(cat "$folder/err")"

for address in 127.0.0.1 localhost ::1; do
  if [ $address = ::1 ] && [ ! -e /proc/net/if_inet6 ]; then
    echo "skipped: ::1, this machine has no IPv6"
    continue
  fi
  export MASTER_ADDR=$address MASTER_PORT=$("$rank_program" free-port)
  for rank in 2 1 0; do start $rank 3 once; done
  for rank in 0 1 2; do expect $rank 0 "rank $rank of 3: all bytes arrived"; done
done

export MASTER_ADDR=127.0.0.1

# A rank that waits says for whom: another rank for rank 0, and rank 0 for those that have not come.
MASTER_PORT=$("$rank_program" free-port)
waits() { for _ in $(seq 600); do grep -q "still waiting" "$folder/$1.out" && break; sleep 0.05; done; }
start 1 3 once
waits 1
start 0 3 once
waits 0
start 2 3 once
expect 0 0 "^no answer from rank 2 after 5[.0-9]* s; still waiting (1 absent)$"
expect 1 0 "^no answer from 127.0.0.1:$MASTER_PORT after 5[.0-9]* s: Connection refused; still waiting$"
expect 2 0 "rank 2 of 3: all bytes arrived"

# apart COMMAND...: rank 1 started by COMMAND, so that ranks 0 and 1 cannot read each other's memory: TCP, and one rank says why.
apart() {
  export MASTER_PORT=$("$rank_program" free-port)
  start 0 2 once
  RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 "$@" "$rank_program" once >"$folder/1.out" 2>&1 &
  pids[1]=$!
}
if unshare --pid --fork true 2>/dev/null; then
  apart unshare --pid --fork
  expect 0 0 "ranks 0 and 1 are on one machine but exchange data over TCP: they are in different PID namespaces"
  expect 1 0 "rank 1 of 2: all bytes arrived"
  grep -q warning "$folder/1.out" && fail "both ranks tell why they use TCP"
  # Rank 0 may read rank 1, but not the other way round.
  apart setpriv --reuid=65534 --regid=65534 --clear-groups
  expect 0 0 "rank 0 of 2: all bytes arrived"
  expect 1 0 "rank 1 of 2: all bytes arrived"
else
  echo "skipped: ranks that cannot read each other, which needs root"
fi

# Too few descriptors for rank 2's connection: rank 0 says so, instead of a wait that nothing explains.
export MASTER_PORT=$("$rank_program" free-port)
RANK=0 WORLD_SIZE=3 LOCAL_RANK=0 bash -c 'ulimit -n 6; exec "$0" once' "$rank_program" >"$folder/0.out" 2>&1 &
pids[0]=$!
for rank in 1 2; do start $rank 3 once; done
for _ in $(seq 100); do
  grep -q "a rank cannot connect: Too many open files; raise ulimit -n" "$folder/0.out" && break
  sleep 0.1
done
grep -q "raise ulimit -n" "$folder/0.out" || fail "too few descriptors: $(cat "$folder/0.out")"
kill -9 "${pids[@]}"
wait "${pids[@]}"

start_three 600
kill -9 "${pids[1]}"
expect 0 69 "rank 0 (of group world): .*rank 1 closed the connection"
# Rank 0 ends, too; on a busy machine rank 2 may hear of that first.
expect 2 69 "rank 2 (of group world): .*rank [01] closed the connection"
wait "${pids[1]}"

start_three 1.5
kill -STOP "${pids[1]}"
# Who was caught an operation earlier is missed too.
expect 0 69 "no answer from .*rank 1"
expect 2 69 "no answer from .*rank 1\|rank 0 closed the connection" # on a busy machine, see above
kill -9 "${pids[1]}"
wait "${pids[1]}"

# Suspended as Ctrl-Z does it, for longer than any deadline: the job goes on.
start_three 1.5
kill -STOP "${pids[@]}"
sleep 4
kill -CONT "${pids[@]}"
sleep 3
for rank in 0 1 2; do
  kill -0 "${pids[$rank]}" 2>/dev/null || fail "rank $rank did not survive being suspended: $(cat "$folder/$rank.out")"
done
kill -9 "${pids[@]}"
wait "${pids[@]}"

export MASTER_PORT=$("$rank_program" free-port)
key=$(printf 'a%.0s' $(seq 64))
DSLAUNCH_JOB_KEY=$key start 0 2 once
DSLAUNCH_JOB_KEY=${key/a/b} start 1 2 once
expect 1 69 "rank 1: .* refused the job key"
grep -q "$key" "$folder"/*.out && fail "the key is printed"
kill -9 "${pids[0]}"

[ $failures = 0 ] && echo "ranks from plain variables: all as promised"
exit $((failures > 0))
