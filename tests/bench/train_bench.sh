#!/usr/bin/env bash
# Compares training speed with PyTorch on the same CPU: tokens/s in bf16, in turn, and their ratio. Asserts nothing.
#   tests/bench/train_bench.sh [BUILD_BIN] [ROUNDS] [STEPS] [SHAPES...]     default: build/release/bin 5 8 10.8M 124M
# PyTorch runs with autocast and in pure bf16; a round's ratio is ours over PyTorch's better mode.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-${DS_BIN:-$source/build/release/bin}}
rounds=${2:-5}
steps=${3:-8}
shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- 10.8M 124M

python=/usr/bin/python3  # Debian's Python, which python3-torch belongs to
if ! $python -c 'import torch, numpy' 2>/dev/null; then
  echo "skipped: Debian packages python3-torch and python3-numpy are not installed"
  exit 77
fi
[ -x "$bin/dsrunner" ] || { echo "no $bin/dsrunner: build it first"; exit 1; }
threads=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find "$source/engine" "$source/launcher" -name '*.h' | LC_ALL=C sort | xargs cat >"$work/text"
unset RANK WORLD_SIZE LOCAL_RANK OMP_NUM_THREADS

# shape NAME: prints layers width heads vocab batch seq_len
shape() {
  case $1 in
    10.8M) echo 6 384 6 256 16 256 ;;
    124M) echo 12 768 12 50304 4 256 ;;
    tiny) echo 2 64 2 256 4 32 ;;  # for a test of the script
    *) echo "no shape $1" >&2 && exit 64 ;;
  esac
}
ours() {
  rm -rf "$work/run"
  printf '[data]\ntrain = "text"\nvalidation = 0\n' >"$work/train.toml"
  "$bin/dsrunner" "$work/train.toml" model.layers="$1" model.hidden="$2" model.heads="$3" model.vocab="$4" \
    batch.micro="$5" batch.accum=1 data.seq_len="$6" precision.dtype=bf16 optimizer.lr=3e-4 \
    train.steps=$((steps + 1)) log.every=1 log.dir="$work/run" device.threads="$threads" >"$work/out" 2>&1 ||
    { cat "$work/out" >&2; exit 1; }
  sed -n 's/.*"median_tokens_per_s": \([0-9.]*\).*/\1/p' "$work/run/summary.json"
}
torch() { $python "$source/tests/bench/train_bench.py" "$@"; }

# spread: prints median and range of the numbers on standard input
spread() { sort -n | awk '{ v[NR] = $1 } END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
  printf "median %.2f, from %.2f to %.2f", m, v[1], v[NR] }'; }

echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $threads threads, bf16, $rounds rounds of $steps steps"
for name in "$@"; do
  : >"$work/ratios" >"$work/ours"
  sizes=$(shape "$name")
  for ((round = 1; round <= rounds; round++)); do
    # shellcheck disable=SC2086
    { a=$(ours $sizes); b=$(torch $sizes autocast "$threads" $((steps + 1)))
      c=$(torch $sizes pure "$threads" $((steps + 1))); }
    ratio=$(awk -v a="$a" -v b="$b" -v c="$c" 'BEGIN { printf "%.3f", a / (b > c ? b : c) }')
    echo "$name round $round: ours $a, PyTorch autocast $b, pure bf16 $c tokens/s: ratio $ratio"
    echo "$ratio" >>"$work/ratios"
    echo "$a" >>"$work/ours"
  done
  echo "$name: ratio to PyTorch's better mode: $(spread <"$work/ratios"); ours: $(spread <"$work/ours") tokens/s"
done
