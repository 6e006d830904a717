#!/usr/bin/env bash
# What ZeRO and offload cost: tokens/s as ratios from one run, settings in turn. Asserts nothing.
#   tests/bench/zero_bench.sh [BUILD_BIN] [ROUNDS] [STEPS] [SHAPE] [CASES...]   default: build/release/bin 3 6 124M stage3 cpu nvme
#   stage3  stage 3 over stage 0, 2 ranks
#   cpu     optimizer state in host memory over none, 1 rank and 2 ranks (stage 2)
#   nvme    optimizer state in files: the step over backward + max(forward, I/O), 1 rank. NVME_PATH: the folder.
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

# A step that waits for files, over backward + max(forward, I/O). Arithmetic: the step with the state in host memory, a
# third of it forward; I/O: every byte in files read and written once at the rates of the start's probe: both ways at once as if
# neither slowed the other (no disk does more), and, for comparison, one after the other.
bound_ratio() {
  awk -v tokens="$(sed -n 's/.*batch.micro=\([0-9]*\) data.seq_len=\([0-9]*\).*/\1 \2/p' <<<"$keys")" -v with="$1" -v without="$2" '
    /^offload/ { for (i = 1; i < NF; i++) if ($(i + 2) == "in" && $(i + 3) == "files")
      bytes = $i * ($(i + 1) == "GiB" ? 2 ^ 30 : $(i + 1) == "MiB" ? 2 ^ 20 : 2 ^ 10) }
    /^files/ { for (i = 1; i < NF; i++) { if ($i == "read") r = $(i + 1); if ($i == "write") w = $(i + 1) } }
    END { split(tokens, t, " "); n = t[1] * t[2]; c = n / without
      reads = bytes / r / 1e9; writes = bytes / w / 1e9; io = reads > writes ? reads : writes; turns = reads + writes
      bound = 2 * c / 3 + (c / 3 > io ? c / 3 : io); loose = 2 * c / 3 + (c / 3 > turns ? c / 3 : turns)
      printf "%.4f (one after the other %.4f), reads %.3f s, writes %.3f s, arithmetic %.3f s\n", n / with / bound, n / with / loose, reads, writes, c }' "$work/out.0"
}
compare_with_bound() {
  local round with without
  : >"$work/ratios"
  for ((round = 1; round <= rounds; round++)); do
    # shellcheck disable=SC2086
    { without=$(tokens_per_s 1 $keys offload.optimizer.device=cpu "$@")
      with=$(tokens_per_s 1 $keys offload.optimizer.device=nvme offload.optimizer.paths="$path" "$@"); }
    bound_ratio "$with" "$without" >>"$work/ratios"
    echo "optimizer in files, round $round: $with against $without tokens/s in host memory; step over its bound $(tail -n 1 "$work/ratios")"
  done
  echo "optimizer in files, step over its bound: $(spread <"$work/ratios")"
}

echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $cores threads, $shape, bf16, $rounds rounds of $steps steps"
for name in "$@"; do
  case $name in
    stage3) compare "stage 3 over stage 0, 2 ranks" 2 "$keys zero.stage=3" "$keys zero.stage=0" ;;
    cpu)
      compare "optimizer in host memory over none, 1 rank" 1 "$keys offload.optimizer.device=cpu" "$keys"
      compare "optimizer in host memory over none, stage 2, 2 ranks" 2 "$keys zero.stage=2 offload.optimizer.device=cpu" "$keys zero.stage=2"
      ;;
    nvme) compare_with_bound ;;
    *) echo "no case $name" >&2 && exit 64 ;;
  esac
done
