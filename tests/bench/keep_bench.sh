#!/usr/bin/env bash
# Cost of kept states: step times without them, with elastic.every = auto, and with a keep at every step, in turn. Asserts nothing.
#   tests/bench/keep_bench.sh [BUILD_BIN] [ROUNDS] [STEPS] [CASES...]     default: build/release/bin 3 60, all cases
# Cases: SHAPE-RANKS, such as 10.8M-2 or 124M-2: every rank is a node of its own, so each one has a buddy. keep_agent (DS_TESTS) stands
# for the agents. The first third of the steps is left out. Prints the median step time of each way (from the fastest to the
# slowest round), the ratios of the medians of each round to that without kept states, the keeps, and the bytes of slots beside
# those that the plan counts.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-${DS_BIN:-$source/build/release/bin}}
rounds=${2:-3} steps=${3:-60}
shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- 10.8M-2 124M-2
. "$source/tests/bench/pairs.sh"
tests=${DS_TESTS:-$source/build/release/tests}

# train RANKS EVERY KEYS...: one job; its run folder is $work/run, what the agent says $work/agent
train() {
  local ranks=$1 every=$2
  shift 2
  rm -rf "$work/run"
  MASTER_ADDR=127.0.0.1 MASTER_PORT=$("$tests/comm_rank" free-port) DSLAUNCH_JOB_ID=bench DSLAUNCH_EPOCH=0 DSLAUNCH_ELASTIC_RANKS=1:$ranks \
    DSLAUNCH_CUDA_PLUGIN=none "$tests/keep_agent" "$work/out" "$ranks" 1 0 "$bin/dsrunner" "$work/train.toml" elastic.every="$every" \
    log.dir="$work/run" log.every=1 train.steps="$steps" batch.accum=1 device.threads=1 "$@" >"$work/agent"
  ! grep "^exit" "$work/agent" | grep -qv " 0$" || { cat "$work/agent" "$work"/out.*; exit 1; }
}

for case in "$@"; do
  ranks=${case#*-} keys=$(shape_keys "${case%-*}")
  rm -f "$work"/times.*
  for ((round = 1; round <= rounds; round++)); do
    for every in 0 auto 1; do
      # shellcheck disable=SC2086
      train "$ranks" $every zero.stage=1 $keys
      python3 - "$work/run/metrics.jsonl" "$steps" >>"$work/times.$every" <<'END'
import json, statistics, sys
at = [m["elapsed_s"] for m in map(json.loads, open(sys.argv[1])) if "loss" in m]
times = [b - a for a, b in zip(at, at[1:])][int(sys.argv[2]) // 3:]
print(statistics.median(times), statistics.mean(times))
END
    done
  done
  # shellcheck disable=SC2086
  planned=$("$bin/dsrunner" plan --nodes "$ranks" "$work/train.toml" zero.stage=1 elastic.every=1 train.steps=1 $keys |
    awk '$1 == "kept" { print $3; exit }')
  slots=$(awk '$1 == "slot" && $3 != "none" { sum += $5 } END { printf "%.0f\n", sum }' "$work/agent")
  python3 - "$case" "$work" "${planned:-0}" "$slots" "$ranks" <<'END'
import statistics, sys
case, work, plan, slots, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
read = lambda every: [list(map(float, line.split())) for line in open(f"{work}/times.{every}")]
plain = read("0")
for every in ("0", "auto", "1"):
    rows = read(every)
    line = f"{case}, every {every:>4}:"
    for index, name in enumerate(("median", "mean")):
        values = [row[index] for row in rows]
        ratios = [row[index] / base[index] for row, base in zip(rows, plain)]
        line += (f"  {name} step {1e3 * statistics.median(values):8.1f} ms ({1e3 * min(values):.1f} to {1e3 * max(values):.1f}),"
                 f" ratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
    print(line)
print(f"{case}: slots of all ranks {slots} bytes; planned for the heaviest rank {plan} bytes, times {ranks} ranks {plan * ranks}")
END
done
