#!/usr/bin/env bash
# What ZeRO and offload cost: tokens/s as ratios from one run, settings in turn. Asserts nothing.
#   tests/bench/zero_bench.sh [BUILD_BIN] [ROUNDS] [STEPS] [SHAPE] [CASES...]   default: build/release/bin 3 6 124M stage3 cpu nvme
#   stage3  stage 3 over stage 0, 2 ranks
#   cpu     optimizer state in host memory over none, 1 rank and 2 ranks (stage 2)
#   nvme    optimizer state in files over host memory, and its step against backward + max(forward, I/O). NVME_PATH: the folder.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-${DS_BIN:-$source/build/release/bin}}
rounds=${2:-3}
steps=${3:-6}
shape=${4:-124M}
shift $(($# < 4 ? $# : 4))
[ $# -gt 0 ] || set -- stage3 cpu nvme
. "$source/tests/bench/pairs.sh"
keys=$(shape_keys "$shape")
path=${NVME_PATH:-$work}

# The bound of a step that waits for files: backward + max(forward, I/O), forward being a third of the arithmetic.
# I/O: the bytes of master weights and moments, read and written, at the rates of the start's probe.
nvme_bound() {
  local tokens=$1 with=$2 without=$3
  sed -n 's/.*\(probe\|files\).*/&/p' "$work/out.0" | head -n 3
  awk -v t="$tokens" -v w="$with" -v o="$without" -v io="${IO_SECONDS:-0}" 'BEGIN {
    c = t / o; bound = 2 * c / 3 + (c / 3 > io ? c / 3 : io)
    printf "nvme step %.3f s, arithmetic %.3f s, I/O %.3f s: step over bound %.3f\n", t / w, c, io, t / w / bound }'
}

echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $cores threads, $shape, bf16, $rounds rounds of $steps steps"
for name in "$@"; do
  case $name in
    stage3) compare "stage 3 over stage 0, 2 ranks" 2 "$keys zero.stage=3" "$keys zero.stage=0" ;;
    cpu)
      compare "optimizer in host memory over none, 1 rank" 1 "$keys offload.optimizer.device=cpu" "$keys"
      compare "optimizer in host memory over none, stage 2, 2 ranks" 2 "$keys zero.stage=2 offload.optimizer.device=cpu" "$keys zero.stage=2"
      ;;
    nvme)
      compare "optimizer in files over host memory, 1 rank" 1 \
        "$keys offload.optimizer.device=nvme offload.optimizer.paths=$path" "$keys offload.optimizer.device=cpu"
      ;;
    *) echo "no case $name" >&2 && exit 64 ;;
  esac
done
