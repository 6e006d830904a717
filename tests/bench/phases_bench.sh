#!/usr/bin/env bash
# What it costs to measure the phases of steps: tokens/s with log.phases on over off, in turn. A model of small ops is the worst
# case, because the clock is read between ops. By hand: tests/bench/phases_bench.sh [ROUNDS], with the release build.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
rounds=${1:-9}

# tokens_per_s WORLD KEYS...: the median of the steps of one job
tokens_per_s() {
  run_job "$1" bench "${@:2}" schedule.total=100000
  summary_of bench median_tokens_per_s
}
# compare NAME WORLD KEYS...: prints the ratio of each round and their median
compare() {
  local round off on
  for ((round = 0; round < rounds; round++)); do
    # The order changes from round to round, so that a drift of the machine cancels out.
    if ((round % 2)); then
      off=$(tokens_per_s "${@:2}" log.phases=false)
      on=$(tokens_per_s "${@:2}" log.phases=true)
    else
      on=$(tokens_per_s "${@:2}" log.phases=true)
      off=$(tokens_per_s "${@:2}" log.phases=false)
    fi
    awk -v on="$on" -v off="$off" 'BEGIN { printf "%.4f\n", on / off }'
  done | sort -n | awk -v name="$1" '{ all[NR] = $1 }
    END { printf "%s: on/off %.4f (median of %d; %.4f to %.4f)\n", name, all[int((NR + 1) / 2)], NR, all[1], all[NR] }'
}

compare "gpt-tiny, 1 rank, 64 tokens per step" 1 train.steps=1500
compare "gpt-tiny, 2 ranks, ZeRO 3, overlap" 2 zero.stage=3 determinism.virtual_ranks=2 train.steps=600
compare "4 layers x 256, 1 rank, 2048 tokens per step" 1 model.layers=4 model.hidden=256 model.heads=4 data.seq_len=256 batch.micro=8 train.steps=12
exit $((failures > 0))
