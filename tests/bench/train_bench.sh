#!/usr/bin/env bash
# Compares training speed with PyTorch on the same CPU: tokens/s in bf16, in turn, and their ratio. Asserts nothing.
#   tests/bench/train_bench.sh [BUILD_BIN [ROUNDS [STEPS [SHAPE...]]]]     default: build/release/bin 5 8 and all shapes
# A round's ratio is ours over PyTorch's best mode. Environment:
#   TORCH_PYTHON   a Python with a current torch (default: Debian's python3 with python3-torch)
#   MODES          PyTorch's modes (default: "amp bf16"); "amp-compiled" and "bf16-compiled" take about a minute each and shape
#   BUSY=1         measures everything a second time beside one process that keeps one core busy, and prints what share of its
#                  quiet rate each keeps
#   RUN            a prefix for every measured program, such as "chrt -r 1" on a machine that does other work
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-${DS_BIN:-$source/build/release/bin}}
rounds=${2:-5}
steps=${3:-8}
shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- 10.8M 10.8M-T4096 124M 124M-T1024 llama-100M 2x64
read -ra modes <<<"${MODES:-amp bf16}"
read -ra run <<<"${RUN:-}"

python=${TORCH_PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import torch' 2>/dev/null; then
  echo "skipped: $python has no torch (Debian: python3-torch and python3-numpy; or set TORCH_PYTHON)"
  exit 77
fi
[ -x "$bin/dsrunner" ] || { echo "no $bin/dsrunner: build it first"; exit 1; }
threads=$(nproc)
work=$(mktemp -d)
busy=
trap '[ -z "$busy" ] || kill "$busy"; rm -rf "$work"' EXIT
find "$source/engine" "$source/launcher" -name '*.h' | LC_ALL=C sort | xargs cat >"$work/text"
printf '[data]\ntrain = "text"\nvalidation = 0\n' >"$work/train.toml"
unset RANK WORLD_SIZE LOCAL_RANK OMP_NUM_THREADS
export DSLAUNCH_CUDA_PLUGIN=none

# shape NAME: prints arch layers width heads kv_heads ffn vocab batch seq_len
shape() {
  case $1 in
    10.8M) echo gpt2 6 384 6 6 1536 256 16 256 ;;
    10.8M-T4096) echo gpt2 6 384 6 6 1536 256 1 4096 ;;
    124M) echo gpt2 12 768 12 12 3072 50304 4 256 ;;
    124M-T1024) echo gpt2 12 768 12 12 3072 50304 1 1024 ;;
    llama-100M) echo llama 12 768 12 4 2048 32000 2 512 ;;
    2x64) echo gpt2 2 64 2 2 256 256 16 64 ;;
    tiny) echo gpt2 2 64 2 2 256 256 4 32 ;;  # for a test of the script
    *) echo "no shape $1" >&2 && exit 64 ;;
  esac
}
ours() {  # ours ARCH LAYERS WIDTH HEADS KV_HEADS FFN VOCAB BATCH SEQ_LEN
  local llama=()
  [ "$1" = gpt2 ] || llama=(model.kv_heads="$5" model.tied=true)
  rm -rf "$work/run"
  ${run[@]+"${run[@]}"} "$bin/dsrunner" "$work/train.toml" model.arch="$1" model.layers="$2" model.hidden="$3" model.heads="$4" \
    ${llama[@]+"${llama[@]}"} model.ffn="$6" model.vocab="$7" batch.micro="$8" batch.accum=1 data.seq_len="$9" precision.dtype=bf16 \
    optimizer.lr=3e-4 train.steps=$((steps + 1)) log.every=1 log.dir="$work/run" device.threads="$threads" >"$work/out" 2>&1 ||
    { cat "$work/out" >&2; exit 1; }
  sed -n 's/.*"median_tokens_per_s": \([0-9.]*\).*/\1/p' "$work/run/summary.json"
}
torch() { ${run[@]+"${run[@]}"} "$python" "$source/tests/bench/train_bench.py" "$@" "$threads" $((steps + 1)); }
best_torch() {  # best_torch SIZES...: prints the best mode and its tokens/s
  for mode in "${modes[@]}"; do echo "$mode $(torch "$@" "$mode")"; done | sort -k2 -g | tail -n 1
}
# spread FILE: prints median and range of its numbers
spread() { sort -g "$1" | awk '{ v[NR] = $1 } END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
  printf "%.4g (%.4g to %.4g)", m, v[1], v[NR] }'; }

echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $threads threads, bf16, $rounds rounds of $steps steps, torch $("$python" -c 'import torch; print(torch.__version__)') (${modes[*]})"
for name in "$@"; do
  rm -f "$work"/*.figures
  read -ra sizes <<<"$(shape "$name")"
  for ((round = 1; round <= rounds; round++)); do
    a=$(ours "${sizes[@]}")
    read -r mode b <<<"$(best_torch "${sizes[@]}")"
    echo "$a" >>"$work/ours.figures"
    echo "$b" >>"$work/torch.figures"
    awk -v a="$a" -v b="$b" 'BEGIN { print a / b }' >>"$work/ratio.figures"
    [ -n "${BUSY:-}" ] || continue
    "$python" -c 'while True: pass' &
    busy=$!
    c=$(ours "${sizes[@]}")
    d=$(torch "${sizes[@]}" "$mode")
    kill "$busy"
    busy=
    awk -v a="$a" -v c="$c" 'BEGIN { print c / a }' >>"$work/ours_busy.figures"
    awk -v b="$b" -v d="$d" 'BEGIN { print d / b }' >>"$work/torch_busy.figures"
  done
  echo "$name: ratio $(spread "$work/ratio.figures"); ours $(spread "$work/ours.figures"), PyTorch ($mode) $(spread "$work/torch.figures") tokens/s"
  [ -z "${BUSY:-}" ] || echo "$name beside a busy process: ours keeps $(spread "$work/ours_busy.figures"), PyTorch $(spread "$work/torch_busy.figures") of its quiet rate"
done
