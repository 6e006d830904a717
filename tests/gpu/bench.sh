# The benchmarks of run.sh: training speed relative to the device's own matrix rate and to PyTorch. Sourced.
# shellcheck shell=bash disable=SC2154

datasheet_flops=989e12
windows=6
warm_up=2  # steps: the first one includes setup, and after it the runner measures the matrix rate

epilogues=device.epilogues=fused  # the faster ones; the correctness steps test both
host_key=${host_memory:+ device.host_memory=$host_memory}

# Random bytes: the vocabulary keeps its size, but only 256 of its rows are used.
bench_data() { [ -s "$work/random" ] || head -c 33554432 /dev/urandom >"$work/random"; }

# Measures, before everything else, the rates that the benchmarks' shares refer to.
bench_peak() {
  local status=0 median least most
  logged bench_peak 90 "$tests/gpu_probe" --peak || status=$?
  outcome bench "rates of the device" $status $((status == 0)) "$(grep -E '^bf16_flops' "$log")"
  peak=$(awk '$1 == "bf16_flops" { print $2 }' "$log")
  while read -r name median least most; do
    case $name in
      *_per_s | bf16_flops) fact "$name" "$median"; fact "$name.least" "$least"; fact "$name.most" "$most" ;;
    esac
  done <"$log"
}

# flops_of LAYERS WIDTH FFN_WEIGHTS KV_PART VOCAB TIME: prints "N FLOP/token"; N counts the parameters in matrix products.
# Per block: 2 C^2 (queries and projection), 2 C^2 KV_PART (keys, values), C * FFN_WEIGHTS.
flops_of() {
  awk -v L="$1" -v C="$2" -v F="$3" -v g="$4" -v V="$5" -v T="$6" 'BEGIN {
    N = L * (2 * C * C + 2 * C * C * g + C * F) + V * C; printf "%.0f %.0f\n", N, 6 * N + 6 * L * C * T }'
}

# ours_once NAME KEYS...: appends tokens/s of every timed window to $work/NAME.ours, one per line. A window is one step.
ours_once() {
  local name=$1 steps=$((warm_up + windows))
  shift
  printf '[data]\ntrain = "%s"\nvalidation = 0\n' "$work/random" >"$work/train.toml"
  rm -rf "$work/run"
  logged "bench_$name" "$bench_seconds" "$bin/dsrunner" "$work/train.toml" device.backend=cuda "$epilogues" log.every=1 \
    log.dir="$work/run" train.steps=$steps optimizer.lr=1e-4 "$@" || return
  sed -n 's/.*"tokens_per_s":\([0-9.e+]*\).*/\1/p' "$work/run/metrics.jsonl" |
    tail -n +$((warm_up + 1)) >>"$work/$name.ours"
}

# peer_once NAME MODE ARGUMENTS...: does the same with PyTorch to $work/NAME.MODE. 77: PyTorch with CUDA is missing.
peer_once() {
  local name=$1 mode=$2 status=0 library_path=''  # without our libraries
  shift 2
  logged "peer_${name}_$mode" "$bench_seconds" env TORCHINDUCTOR_CACHE_DIR="$work/inductor" \
    TRITON_CACHE_DIR="$work/triton" python3 "$here/peer_pytorch.py" --mode "$mode" --warm-up $warm_up \
    --windows $windows "$@" || status=$?
  sed -n 's/^tokens_per_s //p' "$log" | tr ' ' '\n' >>"$work/$name.$mode"
  return $status
}

# peers NAME MODES ARGUMENTS...: runs every mode once and notes why a mode did not run.
peers() {
  local name=$1 modes=$2 mode status
  shift 2
  [ -n "$peer" ] || return 0
  for mode in $modes; do
    status=0
    peer_once "$name" "$mode" "$@" || status=$?
    [ $status = 0 ] && continue
    peer_note="PyTorch, $mode: $([ $status = 77 ] || echo 'FAILED: ')$(last_words "$log")"
  done
}

# bench NAME FLOPS "MODES" "KEYS" "PEER ARGUMENTS": runs ours and the peer in alternating order, then writes one record.
bench() {
  local name=$1 flops=$2 modes=$3 keys=$4 arguments=$5 round status=0 before="$SECONDS" median least most count
  local best='' mode values rate clocks
  peer_note=''
  bench_data
  : >"$work/$name.ours"
  for mode in $modes; do : >"$work/$name.$mode"; done
  watch_clocks
  for ((round = 1; round <= ${rounds:-$((2 - ${quick:-0}))}; round++)); do
    # shellcheck disable=SC2086
    if ((round % 2)); then
      ours_once "$name" $keys || { status=$?; break; }
      peers "$name" "$modes" $arguments
    else
      peers "$name" "$modes" $arguments
      ours_once "$name" $keys || { status=$?; break; }
    fi
  done
  clocks=$(clocks_seen)
  local said
  said=$([ $status = 0 ] || last_words "$logs/bench_$name.log")
  spent=$((SECONDS - before))
  read -r median least most count <<<"$(spread_of <"$work/$name.ours")"
  outcome bench "$name" $status "${count:-0}" "${said:-${median:+$median tokens/s}}"
  [ -n "${median:-}" ] || return 1
  last_median=$median
  local peers_said=''
  for mode in $modes; do
    read -r rate least_peer most_peer count_peer <<<"$(spread_of <"$work/${peer_from:-$name}.$mode")"
    [ -n "${rate:-}" ] || continue
    peers_said+="pytorch_$mode=$rate"$'\t'"pytorch_${mode}_least=$least_peer"$'\t'"pytorch_${mode}_most=$most_peer"$'\t'
    peers_said+="pytorch_${mode}_windows=$count_peer"$'\t'
    best=$(awk -v a="${best:-0}" -v b="$rate" 'BEGIN { print b > a ? b : a }')
  done
  derived=$(awk -v m="$median" -v f="$flops" -v p="${peak:-0}" -v d=$datasheet_flops -v b="${best:-0}" 'BEGIN {
    printf "tflops=%.6g\tof_989=%.6g\t", m * f * 1e-12, m * f / d
    if (p > 0) printf "of_peak=%.6g\t", m * f / p
    if (b > 0) printf "ratio=%.4g\t", m / b }')
  record bench "$name" "tokens_per_s=$median" "least=$least" "most=$most" "windows=$count" "flop_per_token=$flops" \
    "keys=$epilogues $keys" "$derived$peers_said$clocks" "note=$epilogues${peer_note:+; $peer_note}"
}

# Measures each kernel of a step alone and its share of the matrix rate, to explain the benchmarks below.
bench_kernels() {
  local shape status
  bench_seconds=120
  for shape in 64x124m 16x1558m; do
    [ -n "$self_test" ] && shape=tiny
    status=0
    logged "kernels_$shape" $bench_seconds env DSLAUNCH_CUDA_EPILOGUES=${epilogues#*=} "$tests/kernels_bench" cuda bf16 $shape || status=$?
    outcome bench "kernels of $shape" $status "$(grep -c ' ms, CPU ' "$log")" "$(last_words "$log")"
    [ -n "$self_test" ] && break
  done
}

bench_124m() {
  local n flops micro=64 shape="model.preset=gpt2-124m model.vocab=50304 data.seq_len=1024" accum=8 best=0 best_micro=64
  [ -n "$self_test" ] && { bench_tiny; return; }
  bench_seconds=150
  read -r n flops <<<"$(flops_of 12 768 6144 1 50304 1024)"
  if [ -z "$quick" ]; then  # chooses the best of a few micro-batch sizes by a few steps each
    bench_data
    local windows=2 warm_up=2
    for micro in 32 64 128; do
      : >"$work/try_$micro.ours"
      # shellcheck disable=SC2086
      ours_once "try_$micro" $shape precision.dtype=bf16 batch.micro=$micro batch.accum=$((512 / micro)) || continue
      rate=$(spread_of <"$work/try_$micro.ours" | cut -d ' ' -f 1)
      fact "gpt2_124m_micro_$micro" "${rate:-none}"
      awk -v a="${rate:-0}" -v b=$best 'BEGIN { exit !(a > b) }' && best=$rate best_micro=$micro
    done
    # The same few steps without fused epilogues show their gain.
    : >"$work/try_exact.ours"
    # shellcheck disable=SC2086
    epilogues=device.epilogues=exact ours_once try_exact $shape precision.dtype=bf16 batch.micro=$best_micro \
      batch.accum=$((512 / best_micro)) && rate=$(spread_of <"$work/try_exact.ours" | cut -d ' ' -f 1) || rate=
    fact gpt2_124m_exact_epilogues "${rate:-none}"
    windows=6 warm_up=2 micro=$best_micro
  fi
  accum=$((512 / micro))
  bench gpt2-124m-T1024 "$flops" "master pure" "$shape precision.dtype=bf16 batch.micro=$micro batch.accum=$accum" \
    "--shape gpt2 --layers 12 --width 768 --heads 12 --vocab 50304 --time 1024 --micro $micro --accum $accum"
}

# 64 k tokens per step, as for the offload below.
keys_1558m="model.preset=gpt2-1558m model.vocab=50304 data.seq_len=1024 precision.dtype=bf16 batch.micro=16 batch.accum=4"
bench_1558m() {
  local n flops
  [ -n "$self_test" ] && return
  bench_seconds=240
  read -r n flops <<<"$(flops_of 48 1600 12800 1 50304 1024)"
  bench gpt2-1558m-T1024 "$flops" "master pure" "$keys_1558m" \
    "--shape gpt2 --layers 48 --width 1600 --heads 25 --vocab 50304 --time 1024 --micro 16 --accum 4" || return
  kept_1558m=$last_median
}

# Measures the cost of offloading the optimizer's state at 64 k tokens per step, relative to the run without offload.
bench_offload() {
  local n flops
  [ -n "$self_test" ] && return
  bench_seconds=240
  if [ -z "${kept_1558m:-}" ]; then
    local peer=''
    bench_1558m || return
  fi
  read -r n flops <<<"$(flops_of 48 1600 12800 1 50304 1024)"
  local peer='' rounds=1
  bench gpt2-1558m-offload "$flops" "" "$keys_1558m offload.optimizer.device=cpu$host_key" "" || return
  step bench "cost of the offload" pass 0 1 "$(awk -v a="$last_median" -v b="$kept_1558m" 'BEGIN {
    printf "%.1f %% of the speed without it", 100 * (b - a) / b }')"
}

# 8 G parameters in two ways that fit in 139 GiB: masters in two halves with recomputed blocks; and states on the host
# (90 GiB of it) without recomputation. PyTorch has no room for fp32 masters, so it runs in bf16 only.
bench_llama8b() {
  local n flops shape
  [ -n "$self_test" ] && return
  bench_seconds=280
  shape="model.preset=llama3-8b data.seq_len=8192 precision.dtype=bf16 batch.micro=1 batch.accum=8"
  read -r n flops <<<"$(flops_of 32 4096 43008 0.25 128256 8192)"
  local windows=5 rounds=1
  bench llama3-8b-T8192 "$flops" pure "$shape precision.master=split16 recompute.policy=auto" \
    "--shape llama --layers 32 --width 4096 --heads 32 --kv-heads 8 --ffn 14336 --vocab 128256 --time 8192 \
     --micro 1 --accum 8"
  local peer='' peer_from=llama3-8b-T8192
  if [ -z "$host_memory" ] && [ "$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)" -lt 104857600 ]; then
    step bench llama3-8b-T8192-offload skip 0 0 "less than 100 GiB of host memory are free (override with --host-memory)"
    return
  fi
  bench llama3-8b-T8192-offload "$flops" pure "$shape offload.optimizer.device=cpu$host_key" ""
}

# For --self-test: runs all code above that does not need a large device.
bench_tiny() {
  local n flops windows=5 rounds=2
  bench_seconds=60
  read -r n flops <<<"$(flops_of 1 32 256 1 256 16)"
  bench tiny "$flops" master \
    "model.layers=1 model.hidden=32 model.heads=2 data.seq_len=16 batch.micro=1 batch.accum=1" \
    "--shape gpt2 --layers 1 --width 32 --heads 2 --vocab 256 --time 16 --micro 1 --accum 1"
}
