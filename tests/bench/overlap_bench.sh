#!/usr/bin/env bash
# What overlap hides: tokens/s with zero.overlap on over off, 2 ranks, on a wire that sleeps (DSLAUNCH_TEST_WIRE) so that
# communication takes at least a fifth of the step. Asserts nothing.
#   tests/bench/overlap_bench.sh [BUILD_BIN] [ROUNDS] [STEPS] [SHAPE] [RATE] [LATENCY] [STAGE]
#   default:                     build/release/bin 5 6 10.8M 100M 1ms 2
# Communication's share of a step is 1 - (tokens/s off, slow wire) / (tokens/s off, normal wire).
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-${DS_BIN:-$source/build/release/bin}}
rounds=${2:-5}
steps=${3:-6}
shape=${4:-10.8M}
wire="rate=${5:-100M},latency=${6:-1ms}"
stage=${7:-2}
. "$source/tests/bench/pairs.sh"
keys="$(shape_keys "$shape") zero.stage=$stage"

echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $cores threads, $shape, stage $stage, bf16, 2 ranks, $wire, $rounds rounds of $steps steps"
: >"$work/ratios" >"$work/shares"
for ((round = 1; round <= rounds; round++)); do
  # shellcheck disable=SC2086
  {
    fast=$(tokens_per_s 2 $keys zero.overlap=false)
    off=$(DSLAUNCH_TEST_WIRE=$wire tokens_per_s 2 $keys zero.overlap=false)
    on=$(DSLAUNCH_TEST_WIRE=$wire tokens_per_s 2 $keys zero.overlap=true)
  }
  ratio=$(awk -v a="$on" -v b="$off" 'BEGIN { printf "%.4f", a / b }')
  share=$(awk -v f="$fast" -v s="$off" 'BEGIN { printf "%.4f", 1 - s / f }')
  echo "$ratio" >>"$work/ratios"
  echo "$share" >>"$work/shares"
  echo "round $round: $on on, $off off, $fast off with the normal wire: ratio $ratio, communication $share of a step"
done
echo "overlap on over off: ratio $(spread <"$work/ratios"); communication's share of a step: $(spread <"$work/shares")"
