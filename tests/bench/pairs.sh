# Functions for benchmarks that compare two settings of a training job: runs in turn, medians and ratios. Sourced.
# Needs: bin, rounds, steps. Provides: work, shape_keys, tokens_per_s, compare, spread.
[ -x "$bin/dsrunner" ] || { echo "no $bin/dsrunner: build it first"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find "$source/engine" "$source/launcher" -name '*.h' | LC_ALL=C sort | xargs cat >"$work/text"
printf '[data]\ntrain = "text"\nvalidation = 0\n' >"$work/train.toml"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE OMP_NUM_THREADS
cores=$(nproc)

# shape_keys NAME: prints the keys of a shape (configs/gpt_10m.toml, configs/gpt2_124m.toml)
shape_keys() {
  case $1 in
    10.8M) echo model.preset=gpt-10m batch.micro=16 data.seq_len=256 ;;
    124M) echo model.preset=gpt2-124m batch.micro=4 data.seq_len=256 ;;
    tiny) echo model.preset=gpt-tiny batch.micro=4 data.seq_len=32 ;; # for a test of the script
    *) echo "no shape $1" >&2 && exit 64 ;;
  esac
}

# tokens_per_s WORLD KEYS...: prints the median over the steps of one run
tokens_per_s() {
  local world=$1 threads rank pids=() failed=0
  shift
  threads=$((cores / world > 0 ? cores / world : 1))
  rm -rf "$work/run"
  export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000))
  for ((rank = 0; rank < world; rank++)); do
    RANK=$rank WORLD_SIZE=$world LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$world "$bin/dsrunner" "$work/train.toml" batch.accum=1 train.steps=$((steps + 2)) "$@" \
      precision.dtype=bf16 optimizer.lr=3e-4 log.every=1 log.dir="$work/run" \
      device.threads="$threads" >"$work/out.$rank" 2>&1 </dev/null &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || failed=1; done
  [ $failed = 0 ] || { tail -n 5 "$work"/out.* >&2; exit 1; }
  sed -n 's/.*"median_tokens_per_s": \([0-9.]*\).*/\1/p' "$work/run/summary.json"
}

# spread: prints median and range of the numbers on standard input
spread() { sort -n | awk '{ v[NR] = $1 } END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
  printf "median %.3f, from %.3f to %.3f", m, v[1], v[NR] }'; }

# compare TITLE WORLD "KEYS OF A" "KEYS OF B": runs A and B in turn, A first in every other round; prints the ratio A over B
compare() {
  local title=$1 world=$2 round a b
  : >"$work/ratios"
  for ((round = 1; round <= rounds; round++)); do
    # shellcheck disable=SC2086
    if [ $((round % 2)) = 1 ]; then
      a=$(tokens_per_s "$world" $3) && b=$(tokens_per_s "$world" $4)
    else
      b=$(tokens_per_s "$world" $4) && a=$(tokens_per_s "$world" $3)
    fi || exit 1
    awk -v a="$a" -v b="$b" 'BEGIN { printf "%.4f\n", a / b }' >>"$work/ratios"
    echo "$title, round $round: $a against $b tokens/s: $(tail -n 1 "$work/ratios")"
  done
  echo "$title: ratio $(spread <"$work/ratios")"
}
