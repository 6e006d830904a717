#!/usr/bin/env bash
# Compares data-parallel training on the CPU: 2 ranks of one thread against one rank of two threads, the same global batch, in
# turn. Prints the ratio of tokens/s, and asserts nothing.
#   tests/bench/ranks_bench.sh [BUILD_BIN [ROUNDS [STEPS [SHAPE]]]]     default: build/release/bin 5 8 10.8M; or 124M
# RUN: a prefix for every measured program, such as "chrt -r 1" on a machine that does other work.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-${DS_BIN:-$source/build/release/bin}}
rounds=${2:-5}
steps=${3:-8}
case ${4:-10.8M} in
  10.8M) sizes=(model.layers=6 model.hidden=384 model.heads=6 model.vocab=256 batch.micro=8) ;;
  124M) sizes=(model.layers=12 model.hidden=768 model.heads=12 model.vocab=50304 batch.micro=2) ;;
  *) echo "no shape $4" >&2 && exit 64 ;;
esac
read -ra run <<<"${RUN:-}"
[ -x "$bin/dsrunner" ] || { echo "no $bin/dsrunner: build it first"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find "$source/engine" "$source/launcher" -name '*.h' | LC_ALL=C sort | xargs cat >"$work/text"
printf '[data]\ntrain = "text"\nvalidation = 0\n' >"$work/train.toml"
unset RANK WORLD_SIZE LOCAL_RANK OMP_NUM_THREADS
export DSLAUNCH_CUDA_PLUGIN=none

# train THREADS: one process; RANK and WORLD_SIZE say which rank it is.
train() {
  ${run[@]+"${run[@]}"} "$bin/dsrunner" "$work/train.toml" "${sizes[@]}" batch.accum=1 \
    determinism.virtual_ranks=2 data.seq_len=256 precision.dtype=bf16 optimizer.lr=3e-4 train.steps=$((steps + 1)) log.every=1 \
    log.dir="$work/run" device.threads="$1" >"$work/out.${RANK:-0}" 2>&1 || { cat "$work/out.${RANK:-0}" >&2; return 1; }
}
speed() { sed -n 's/.*"median_tokens_per_s": \([0-9.]*\).*/\1/p' "$work/run/summary.json"; }
one_rank() {
  rm -rf "$work/run"
  train 2
  speed
}
two_ranks() {
  local port other
  rm -rf "$work/run"
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  export MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2
  RANK=1 LOCAL_RANK=1 train 1 &
  other=$!
  RANK=0 LOCAL_RANK=0 train 1
  wait "$other"
  unset WORLD_SIZE
  speed
}
spread() { sort -n | awk '{ v[NR] = $1 } END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
  printf "median %.2f, from %.2f to %.2f\n", m, v[1], v[NR] }'; }

echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), ${4:-10.8M} parameters, bf16, $rounds rounds of $steps steps"
for ((round = 1; round <= rounds; round++)); do
  one=$(one_rank)
  two=$(two_ranks)
  ratio=$(awk -v a="$two" -v b="$one" 'BEGIN { printf "%.3f", a / b }')
  echo "round $round: one rank of two threads $one, two ranks of one thread $two tokens/s: ratio $ratio"
  echo "$ratio" >>"$work/ratios"
done
echo "two ranks over one: $(spread <"$work/ratios")"
