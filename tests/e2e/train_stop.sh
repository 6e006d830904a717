#!/usr/bin/env bash
# How the ranks of a job end together: TERM to one rank, a killed rank, a wrong job key, different settings on one rank.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
long=(train.steps=1000000)

steps_of() { cat "$work/$1/metrics.jsonl" 2>/dev/null | wc -l; }
has_steps() { [ "$(steps_of "$1")" -ge "$2" ]; }
# expect NAME RANK CODE TEXT: checks a rank's exit code and output
expect() {
  local code
  wait "${pids[$2]}"
  code=$?
  [ $code = "$3" ] || fail "$1: rank $2 exits $code, not $3: $(tail -5 "$work/$1.$2.out")"
  [ -z "$4" ] || grep -q -- "$4" "$work/$1.$2.out" || fail "$1: rank $2 does not say '$4': $(tail -5 "$work/$1.$2.out")"
}
# ended_within NAME SECONDS RANKS...: makes a hang a failure, before the test's own limit
ended_within() {
  local name=$1 seconds=$2 rank
  for rank in "${@:3}"; do
    wait_for "$seconds" eval "! kill -0 ${pids[$rank]} 2>/dev/null" || fail "$name: rank $rank hangs"
    kill -9 "${pids[$rank]}" 2>/dev/null
  done
}

# TERM to a rank other than rank 0: all stop after the same step, and the summary is written.
start_job 3 term determinism.virtual_ranks=4 "${long[@]}"
wait_for 60 has_steps term 3 || fail "term: no step"
kill -TERM "${pids[1]}"
ended_within term 30 0 1 2
for rank in 0 1 2; do expect term $rank 143 ""; done
steps=$(summary_of term steps)
[ -n "$steps" ] && [ "$steps" = "$(steps_of term)" ] || fail "term: summary after $steps steps, metrics of $(steps_of term)"
hash=$(summary_of term weights_hash)
[ ${#hash} = 32 ] || fail "term: no weights_hash in the summary"
# The weights are those of that many whole steps.
run_job 1 replay determinism.virtual_ranks=4 train.steps="$steps" schedule.total=1000000
[ "$(summary_of replay weights_hash)" = "$hash" ] || fail "term: not the weights of $steps whole steps"

# kill -9: the others name rank and op within seconds.
for victim in 1 0; do
  name=kill$victim
  start_job 3 $name determinism.virtual_ranks=3 "${long[@]}"
  wait_for 60 has_steps $name 3 || fail "$name: no step"
  kill -9 "${pids[$victim]}"
  wait "${pids[$victim]}" 2>/dev/null
  others=()
  for rank in 0 1 2; do [ $rank = $victim ] || others+=($rank); done
  ended_within $name 30 "${others[@]}"
  for rank in "${others[@]}"; do
    expect $name "$rank" 69 "rank [0-9] closed the connection"
    # The error begins with the op's path: "dsrunner: reduce.block1: ...".
    grep -qE '^dsrunner: [a-z_]+[a-z0-9_.]*: ' "$work/$name.$rank.out" ||
      fail "$name: rank $rank names no op: $(tail -3 "$work/$name.$rank.out")"
  done
  # A rank may see the end of another survivor instead of the killed rank, so only one rank must name the cause.
  grep -q "rank $victim closed the connection" "$work/$name".*.out || fail "$name: nobody names rank $victim"
done

# A rank with another job key is refused, and the key is not printed.
key=$(printf 'a%.0s' $(seq 64))
export MASTER_PORT
MASTER_PORT=$("$DS_TESTS/comm_rank" free-port)
DSLAUNCH_JOB_KEY=$key start_rank 0 2 key "${long[@]}"
DSLAUNCH_JOB_KEY=${key/a/b} start_rank 1 2 key "${long[@]}"
ended_within key 30 1
expect key 1 69 "refused the job key"
grep -q "$key" "$work"/key.*.out && fail "key: printed"
kill -9 "${pids[0]}"
wait "${pids[0]}" 2>/dev/null

# A setting that decides bits differs on one rank: an error on both, before the first step.
MASTER_PORT=$("$DS_TESTS/comm_rank" free-port)
start_rank 0 2 differ "${long[@]}"
start_rank 1 2 differ "${long[@]}" train.seed=2
ended_within differ 30 0 1
for rank in 0 1; do expect differ $rank 65 ""; done
grep -q "differ" "$work"/differ.*.out || fail "differ: nobody says that the ranks differ: $(cat "$work"/differ.*.out)"
has_steps differ 1 && fail "differ: a step was taken"

# The same for a setting that only decides when ranks communicate, since the ranks would wait for each other.
for key in zero.overlap=false offload.optimizer.update=backward train.validate_every=3; do
  MASTER_PORT=$("$DS_TESTS/comm_rank" free-port)
  start_rank 0 2 order "${long[@]}" zero.stage=1 offload.optimizer.device=cpu
  start_rank 1 2 order "${long[@]}" zero.stage=1 offload.optimizer.device=cpu $key
  ended_within order 30 0 1
  for rank in 0 1; do expect order $rank 65 "order of communication differs between ranks"; done
done

# Another build on one rank: the same program with one more byte.
cp "$dsrunner" "$work/other_build" && echo >>"$work/other_build"
MASTER_PORT=$("$DS_TESTS/comm_rank" free-port)
start_rank 0 2 build "${long[@]}"
dsrunner=$work/other_build start_rank 1 2 build "${long[@]}"
ended_within build 30 0 1
for rank in 0 1; do expect build $rank 65 "build differs between ranks"; done
pids=()

[ $failures = 0 ] && echo "ends of a training group: all as promised"
exit $((failures > 0))
