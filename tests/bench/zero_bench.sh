#!/usr/bin/env bash
# Cost of ZeRO and offload: tokens/s as ratios from one run, settings in turn. Asserts nothing.
#   tests/bench/zero_bench.sh [BUILD_BIN] [ROUNDS] [STEPS] [SHAPE] [CASES...]   default: build/release/bin 3 6 124M stage3 cpu nvme
#   stage3  stage 3 over stage 0, 2 ranks
#   cpu     optimizer state in host memory over none, 1 rank and 2 ranks (stage 2)
#   nvme    optimizer state in files, 1 rank: the step over backward + max(forward, I/O); and with updates during the backward
#           pass, without clipping, over the larger of arithmetic and I/O. NVME_PATH is the folder. Needs: DS_TESTS.
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
tests=${DS_TESTS:-$source/build/release/tests}

# disk_rate: prints bytes per second and direction of a reader and a writer at once, as in offloading, without any other load
disk_rate() {
  "$tests/tile_traffic" folders="$path" mib=960 tile=48 | sed -n 's/^both[^0-9]* \([0-9.]*\)$/\1/p'
}
# bound_ratio WITH WITHOUT RATE EARLY: prints the step over its bound. Arithmetic: the step with states in host memory, a third
# of it forward. I/O: every byte in files read and written once at RATE. Exact mode: backward + max(forward, I/O); early: the larger one.
bound_ratio() {
  awk -v tokens="$(sed -n 's/.*batch.micro=\([0-9]*\) data.seq_len=\([0-9]*\).*/\1 \2/p' <<<"$keys")" -v with="$1" -v without="$2" -v rate="$3" -v early="$4" '
    /^offload/ { for (i = 1; i < NF; i++) if ($(i + 2) == "in" && $(i + 3) == "files")
      bytes = $i * ($(i + 1) == "GiB" ? 2 ^ 30 : $(i + 1) == "MiB" ? 2 ^ 20 : 2 ^ 10) }
    END { split(tokens, t, " "); n = t[1] * t[2]; c = n / without; if (early) bytes /= 2  # two slots, one read, one written
      io = bytes / rate / 1e6
      bound = early ? (c > io ? c : io) : 2 * c / 3 + (c / 3 > io ? c / 3 : io)
      printf "%.4f (step %.3f s, I/O alone %.3f s, arithmetic %.3f s)\n", n / with / bound, n / with, io, c }' "$work/out.0"
}
# compare_with_bound NAME EARLY KEYS...: runs with states in memory and in files, prints the ratio to the bound
compare_with_bound() {
  local name=$1 early=$2 round with without rate
  shift 2
  : >"$work/ratios"
  for ((round = 1; round <= rounds; round++)); do
    rate=$(disk_rate)
    # shellcheck disable=SC2086
    { without=$(tokens_per_s 1 $keys offload.optimizer.device=cpu "${@/offload.optimizer.update=backward/optimizer.clip=0}")
      with=$(tokens_per_s 1 $keys offload.optimizer.device=nvme offload.optimizer.paths="$path" "$@"); }
    bound_ratio "$with" "$without" "$rate" "$early" >>"$work/ratios"
    echo "$name, round $round: $(tail -n 1 "$work/ratios")"
  done
  echo "$name, step over its bound: $(spread <"$work/ratios")"
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
      compare_with_bound "optimizer in files, beside the next forward pass" 0
      compare_with_bound "optimizer in files, beside the backward pass, clip 0" 1 offload.optimizer.update=backward optimizer.clip=0
      ;;
    *) echo "no case $name" >&2 && exit 64 ;;
  esac
done
