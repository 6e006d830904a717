#!/usr/bin/env bash
# Compares training speed with transformers' own models on the same CPU: BERT-base, T5-small, Qwen2.5-0.5B cut to 6 layers. Asserts nothing.
#   tests/bench/models_bench.sh [BUILD_BIN [ROUNDS [STEPS [SHAPE...]]]]     default: build/release/bin 3 4 and all shapes
# A round's ratio is ours over the better of transformers' modes, in turn: autocast with fp32 weights, and bf16 weights. Sequences
# are counted, because of T5's two lengths. BERT's loss counts 15 % of the tokens, and the peer computes logits for those rows alone.
#   TORCH_PYTHON   a Python with torch, transformers, numpy and safetensors (default: Debian's python3)
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-${DS_BIN:-$source/build/release/bin}}
rounds=${2:-3}
steps=${3:-4}
shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- bert-base t5-small qwen2.5-6-layers
python=${TORCH_PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import torch, transformers, safetensors, numpy' 2>/dev/null; then
  echo "skipped: $python lacks torch, transformers, safetensors or numpy (set TORCH_PYTHON)"
  exit 77
fi
[ -x "$bin/dsrunner" ] || { echo "no $bin/dsrunner: build it first"; exit 1; }
threads=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset RANK WORLD_SIZE LOCAL_RANK OMP_NUM_THREADS
export DSLAUNCH_CUDA_PLUGIN=none
printf '[data]\nformat = "samples"\ntrain = "samples"\nvalidation = 0\n' >"$work/train.toml"

# keys SHAPE: batch, seq_len, then our keys of the shape
keys() {
  case $1 in
    bert-base) echo 8 128 model.preset=bert-base-uncased ;;
    t5-small) echo 8 128 model.preset=t5-small data.encoder_len=512 ;;
    qwen2.5-6-layers) echo 2 512 model.preset=qwen2.5-0.5b model.layers=6 ;;
    *) echo "no shape $1" >&2 && exit 64 ;;
  esac
}
ours() {  # ours SHAPE: prints sequences/s
  local words
  read -ra words <<<"$(keys "$1")"
  rm -rf "$work/run"
  "$bin/dsrunner" "$work/train.toml" batch.micro="${words[0]}" batch.accum=1 data.seq_len="${words[1]}" "${words[@]:2}" precision.dtype=bf16 \
    optimizer.lr=3e-4 train.steps=$((steps + 1)) log.every=1 log.dir="$work/run" device.threads="$threads" >"$work/out" 2>&1 ||
    { cat "$work/out" >&2; exit 1; }
  sed -n 's/.*"median_tokens_per_s": \([0-9.]*\).*/\1/p' "$work/run/summary.json" | awk -v t="${words[1]}" '{ print $1 / t }'
}
peer() { "$python" "$source/tests/bench/models_bench.py" run "$1" "$work/samples" "$2" "$threads" $((steps + 1)); }
spread() { sort -g "$1" | awk '{ v[NR] = $1 } END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
  printf "%.4g (%.4g to %.4g)", m, v[1], v[NR] }'; }

echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $threads threads, bf16, $rounds rounds of $steps steps, $("$python" -c 'import torch, transformers; print("torch", torch.__version__, "transformers", transformers.__version__)')"
for name in "$@"; do
  rm -f "$work"/*.figures
  "$python" "$source/tests/bench/models_bench.py" samples "$name" "$work/samples" 2>/dev/null
  for ((round = 1; round <= rounds; round++)); do
    a=$(ours "$name")
    read -r b mode <<<"$(for mode in amp bf16; do echo "$(peer "$name" $mode 2>/dev/null) $mode"; done | sort -g | tail -n 1)"
    echo "$a" >>"$work/ours.figures"
    echo "$b" >>"$work/peer.figures"
    awk -v a="$a" -v b="$b" 'BEGIN { print a / b }' >>"$work/ratio.figures"
  done
  echo "$name: ratio $(spread "$work/ratio.figures"); ours $(spread "$work/ours.figures"), transformers ($mode) $(spread "$work/peer.figures") sequences/s"
done
