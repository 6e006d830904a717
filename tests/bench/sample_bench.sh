#!/usr/bin/env bash
# Compares the time of a greedy token at T positions with transformers' generate(use_cache) on the same cores, in turn, fp32.
#   tests/bench/sample_bench.sh [BUILD_BIN [ROUNDS [POSITIONS [SHAPE...]]]]     default: build/release/bin 5 1024, both shapes
# Prints for each round the milliseconds of a token, from the last 32 of POSITIONS, ours and theirs, and their ratio. Asserts nothing.
# Environment: TORCH_PYTHON   a Python with torch and transformers
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-${DS_BIN:-$source/build/release/bin}}
rounds=${2:-5}
positions=${3:-1024}
shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- gpt2-124M llama-100M
python=${TORCH_PYTHON:-python3}
if ! "$python" -c 'import torch, transformers' 2>/dev/null; then
  echo "skipped: $python has no torch or transformers (set TORCH_PYTHON)"
  exit 77
fi
[ -x "$bin/dslaunch" ] || { echo "no $bin/dslaunch: build it first"; exit 1; }
threads=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export DSLAUNCH_CUDA_PLUGIN=none
tokens=32
cat >"$work/peer.py" <<'END'
import sys, time
import torch, transformers
command, folder, shape, positions, tokens, threads = *sys.argv[1:4], *map(int, sys.argv[4:7])
torch.set_num_threads(threads)
if command == "make":
    torch.manual_seed(0)
    common = dict(vocab_size=32000, num_hidden_layers=12, hidden_size=768, num_attention_heads=12, num_key_value_heads=4,
                  intermediate_size=2048, max_position_embeddings=positions, eos_token_id=None)
    config = (transformers.GPT2Config(n_positions=positions, eos_token_id=None) if shape.startswith("gpt2")
              else transformers.LlamaConfig(**common))
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    sys.exit()
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
def seconds(new):
    prompt = torch.arange(positions - tokens).remainder(1000)[None]
    begun = time.perf_counter()
    with torch.inference_mode():
        model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=new, do_sample=False, use_cache=True,
                       pad_token_id=0)
    return time.perf_counter() - begun
seconds(2)
first = seconds(1)
print(1000 * (seconds(tokens) - first) / (tokens - 1))
END
peer() { "$python" "$work/peer.py" "$1" "$work/$2" "$2" "$positions" $tokens "$threads" 2>/dev/null; }
ours() {
  "$bin/dslaunch" sample "$work/$1" --tokens "$(seq -s, 0 $((positions - tokens - 1)) | awk -v RS=, '{printf "%s%d", (NR > 1 ? "," : ""), $1 % 1000}')" \
    --length $tokens --threads "$threads" 2>&1 >/dev/null | sed -n 's/.*then \([0-9.]*\) ms a token/\1/p'
}
for shape in "$@"; do
  peer make "$shape"
  for ((round = 1; round <= rounds; round++)); do
    mine=$(ours "$shape")
    theirs=$(peer time "$shape")
    awk -v s="$shape" -v m="$mine" -v t="$theirs" 'BEGIN { printf "%-12s ours %7.2f ms  transformers %7.2f ms  ratio %.2f\n", s, m, t, m / t }'
  done
done
