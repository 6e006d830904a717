#!/usr/bin/env bash
# Cost of many micro-batches per step: program size, plan time and tokens/s with batch.accum = 512 against 4. Asserts nothing.
#   tests/bench/accum_bench.sh [BUILD_BIN] [ROUNDS] [STEPS]   default: build/release/bin 3 2
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-${DS_BIN:-$source/build/release/bin}}
rounds=${2:-3}
steps=${3:-2}
. "$source/tests/bench/pairs.sh"
keys="model.preset=gpt-10m batch.micro=1 data.seq_len=64"

# plan_figures WORLD KEYS...: prints the number of ops of rank 0's step and the seconds to check the job (median of the rounds)
plan_figures() {
  local world=$1 round ops start
  shift
  ops=$("$bin/dsrunner" plan --slots "$world" --print offload "$work/train.toml" train.steps=1 "$@" | grep -c '^op')
  for ((round = 1; round <= rounds; round++)); do
    start=$EPOCHREALTIME
    RANK=0 WORLD_SIZE=$world LOCAL_RANK=0 LOCAL_WORLD_SIZE=$world MASTER_ADDR=127.0.0.1 MASTER_PORT=1 \
      "$bin/dsrunner" --check "$work/train.toml" train.steps=1 "$@"
    echo "$start $EPOCHREALTIME" | awk '{ printf "%.3f\n", $2 - $1 }'
  done >"$work/seconds"
  echo "$ops ops, planned in seconds: $(spread <"$work/seconds")"
}

for case in "1 zero.stage=0" "2 zero.stage=0" "2 zero.stage=3"; do
  for accum in 4 512; do
    # shellcheck disable=SC2086
    echo "${case#* }, ${case%% *} ranks, accum $accum: $(plan_figures "${case%% *}" $keys batch.accum=$accum ${case#* })"
  done
  compare "${case#* }, ${case%% *} ranks: tokens/s with accum 512 over accum 4" "${case%% *}" \
    "$keys ${case#* } batch.accum=512" "$keys ${case#* } batch.accum=4 train.steps=$(((steps + 2) * 32))"
done
