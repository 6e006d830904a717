# The correctness steps of run.sh. Sourced.
# shellcheck shell=bash disable=SC2154

# outcome STEP CASE STATUS_OF_COMMAND EXECUTED NOTE: passes if the command passed and something ran on the device.
outcome() {
  local status=pass
  [ "$3" = 0 ] || status=fail
  [ "$3" = 125 ] && status=skip
  [ "$3" = 0 ] && [ "$4" = 0 ] && status=fail
  step "$1" "$2" $status "$spent" "$4" "$5"
}

# Tests every operation, forward and backward, against the double-precision reference, with both kinds of attention.
step_conformance() {
  local attention ran status filter=()
  [ -n "$self_test" ] && filter=(-tc='*squares*,stage*')
  for attention in auto own; do
    [ -n "$self_test" ] && [ $attention = auto ] && continue
    status=0
    logged "conformance_$attention" 300 env DS_TEST_BACKEND=cuda DSLAUNCH_CUDA_ATTENTION=$attention \
      "$tests/conformance_kernels" "${filter[@]}" || status=$?
    ran=$(sed -n 's/^accelerator operations executed: //p' "$log")
    outcome conformance "attention=$attention" "$status" "${ran:-0}" \
      "$(sed -n 's/^\[doctest\] assertions: */assertions: /p' "$log" | tr -s ' ')$(
        sed -n 's/^implementation: attention: /; by /p' "$log" | sort -u | tr -d '\n')"
  done
  step_conformance_fused
}

# Tests linear layers with GELU and bias gradients in the library's epilogues.
step_conformance_fused() {
  local status=0 ran
  logged conformance_fused 200 env DS_TEST_BACKEND=cuda DSLAUNCH_CUDA_EPILOGUES=fused \
    "$tests/conformance_kernels" -tc='linear*,an accelerator*' || status=$?
  ran=$(sed -n 's/^accelerator operations executed: //p' "$log")
  outcome conformance "epilogues=fused" "$status" "${ran:-0}" \
    "$(sed -n 's/^\[doctest\] assertions: */assertions: /p' "$log" | tr -s ' ')"
}

# Tests that ZeRO stages, offload and recompute never change a bit: one rank with four virtual ranks, so that the order
# of sums matters.
step_equality() {
  local cells=40 which status=0 ran what
  [ -n "$quick" ] && cells=12
  which=(--cells $cells --seed 7) what="$cells random cells and hard ones"
  if [ -n "$self_test" ]; then  # two steps, a save during a third step that is lost, then the third step with other settings
    what='one hard cell, broken by a save'
    which=(--steps 3 --broken 42
      --only "dtype=bf16,order=step,stage=3,offload=nvme,update=backward,tiles=small,activations=host")
  fi
  logged equality 240 "$tests/equality_matrix" --backend cuda "${which[@]}" || status=$?
  ran=$(grep -cE '^[0-9a-f]{32}  (same|first|DIFFERS)' "$log")
  outcome equality "$what" $status "$ran" "$(last_words "$log")"
  step_equality_fused
}

# Tests the same with fused epilogues, whose bits differ from exact ones. Recomputation must repeat them.
step_equality_fused() {
  local which=(--cells $((${cells:-0} / 4)) --seed 8) status=0 ran
  [ -n "$self_test" ] && which=(--steps 1 --only "dtype=bf16,recompute=selective")
  logged equality_fused 240 "$tests/equality_matrix" --backend cuda --epilogues fused "${which[@]}" || status=$?
  ran=$(grep -cE '^[0-9a-f]{32}  (same|first|DIFFERS)' "$log")
  outcome equality "epilogues=fused" $status "$ran" "$(last_words "$log")"
}

# Writes a small training text: the sources in this folder.
small_text() { [ -s "$work/text" ] || cat "$here"/*.sh "$here"/*.py "$here"/*.awk >"$work/text"; }

# losses_of NAME BACKEND KEYS...: trains briefly and writes "step loss" lines to $work/NAME.
losses_of() {
  local name=$1 backend=$2
  shift 2
  printf '[data]\ntrain = "%s"\nvalidation = 0\n' "$work/text" >"$work/train.toml"
  logged "losses_$name" 120 "$bin/dsrunner" "$work/train.toml" device.backend="$backend" log.every=1 \
    log.dir="$work/run_$name" "$@" || return
  sed -n 's/.*"step":\([0-9]*\),"loss":\([^,]*\),.*/\1 \2/p' "$work/run_$name/metrics.jsonl" >"$work/$name"
}

# compare_losses A B: prints the largest relative difference and the number of steps.
compare_losses() {
  awk 'NR == FNR { a[$1] = $2; next }
       { d = ($2 - a[$1]) / a[$1]; if (d < 0) d = -d; if (!(d <= worst)) worst = d; ++n }
       END { printf "%.3g %d", worst, n }' "$1" "$2"
}

# Compares the GPU's losses with the CPU's over 20 steps. Tolerances relative to the loss:
# fp32: both round sums of at most 1024 terms (2^-24 * sqrt(1024) / 2 = 1e-6 each) in different orders, and 20 steps of
#       AdamW propagate the difference: an update is lr * m / sqrt(v), so noise that flips the sign of a gradient near 0
#       moves a weight by at most 2 * lr, where the loss is flat. 1e-4.
# bf16: the CPU's own distance from its fp32 losses is the effect of roundings to 8 bits. The GPU rounds at the same
#       places, with other errors of the same size: at most twice that distance, and 2e-4 for the rest.
step_losses() {
  small_text
  losses_against_cpu gpt2
  losses_against_cpu llama model.arch=llama model.kv_heads=1
}

# losses_against_cpu NAME KEYS...: compares the losses of one architecture.
losses_against_cpu() {
  local model=$1 keys steps=20 dtype tolerance base difference count status
  shift
  [ -n "$self_test" ] && steps=2
  keys=(model.layers=3 model.hidden=192 model.heads=3 data.seq_len=128 batch.micro=4 batch.accum=2 optimizer.lr=1e-3
    determinism.virtual_ranks=2 model.dropout=0.1 train.steps=$steps)
  [ -n "$self_test" ] && keys+=(model.hidden=32 model.heads=2 model.layers=1 data.seq_len=16 batch.micro=1)
  keys+=("$@")
  for dtype in fp32 bf16; do
    losses_of "${model}_cpu_$dtype" cpu precision.dtype=$dtype "${keys[@]}" || { outcome losses "$model, cpu $dtype" $? 0 "$(last_words "$log")"; return; }
  done
  base=$(compare_losses "$work/${model}_cpu_fp32" "$work/${model}_cpu_bf16" | cut -d ' ' -f 1)
  for dtype in fp32 bf16; do
    tolerance=1e-4
    [ $dtype = bf16 ] && tolerance=$(awk -v b="$base" 'BEGIN { printf "%.3g", 2 * b + 2e-4 }')
    status=0
    losses_of "${model}_gpu_$dtype" cuda precision.dtype=$dtype "${keys[@]}" || status=$?
    if [ $status != 0 ]; then
      outcome losses "$model, $dtype against the CPU" $status 0 "$(last_words "$log")"
      continue
    fi
    read -r difference count <<<"$(compare_losses "$work/${model}_cpu_$dtype" "$work/${model}_gpu_$dtype")"
    awk -v d="$difference" -v t="$tolerance" -v n="$count" -v s="$steps" 'BEGIN { exit !(d <= t && n == s) }' || status=1
    outcome losses "$model, $dtype against the CPU" $status "$count" \
      "$count steps, differ by $difference of the loss; tolerance $tolerance"
  done
}

# Tests that ranks on separate GPUs, connected by NCCL, get the weights of a single rank. Skipped on one GPU: a world of
# one rank does not use NCCL, and NCCL refuses two processes on one GPU.
step_ranks() {
  local gpus stage status hash first='' keys ran=0 name
  gpus=$(sed -n 's/^device_count //p' "$logs/probe.log")
  if [ "$gpus" -lt 2 ]; then
    step ranks all skip 0 0 "one GPU: a world of one rank does not use NCCL, and NCCL refuses two processes on one GPU"
    return
  fi
  small_text
  printf '[data]\ntrain = "%s"\nvalidation = 0\n' "$work/text" >"$work/train.toml"
  keys=(device.backend=cuda model.layers=3 model.hidden=48 model.heads=3 data.seq_len=32 batch.micro=2 batch.accum=1
    precision.dtype=bf16 train.steps=4 determinism.virtual_ranks="$gpus" determinism.order=step)
  for stage in alone 0 2 3; do
    status=0 name=ranks_$stage
    if [ $stage = alone ]; then
      logged $name 60 "$bin/dsrunner" "$work/train.toml" "${keys[@]}" log.dir="$work/$name" || status=$?
    else
      logged $name 120 "$bin/dslaunch" --host "localhost:$gpus" "$work/train.toml" "${keys[@]}" zero.stage=$stage \
        log.dir="$work/$name" || status=$?
    fi
    hash=$(sed -n 's/.*"weights_hash": "\([0-9a-f]*\)".*/\1/p' "$work/$name/summary.json" 2>/dev/null)
    [ "${hash:-none}" = "${first:=$hash}" ] || status=1
    ran=$([ $status = 0 ] && echo 4 || echo 0)
    outcome ranks "$([ $stage = alone ] && echo 'one rank' || echo "$gpus ranks, stage $stage")" $status "$ran" \
      "$([ $status = 0 ] && echo "weights $hash" || last_words "$log")"
  done
}

# Runs memcheck and racecheck on small cases, if the tool exists and supports this device.
step_sanitizer() {
  local tool found='' place status ran
  for place in compute-sanitizer /usr/local/cuda/bin/compute-sanitizer; do
    found=$(command -v $place) && break
  done
  [ -n "$self_test" ] && found=''
  if [ -z "$found" ]; then
    step sanitizer all skip 0 0 "compute-sanitizer is not installed"
    return
  fi
  status=0
  logged sanitizer_probe 60 "$found" --tool memcheck --error-exitcode 9 "$tests/gpu_probe" --touch || status=$?
  if [ $status != 0 ] || ! grep -q '^touch right' "$log"; then
    step sanitizer all skip "$spent" 0 "compute-sanitizer does not support this device: $(last_words "$log")"
    return
  fi
  for tool in memcheck racecheck; do
    status=0
    logged sanitizer_$tool 240 env DS_TEST_BACKEND=cuda DS_TEST_SMALL=1 "$found" --tool $tool --error-exitcode 9 \
      "$tests/conformance_kernels" || status=$?
    ran=$(sed -n 's/^accelerator operations executed: //p' "$log")
    outcome sanitizer $tool $status "${ran:-0}" "$(grep 'SUMMARY' "$log" | tail -n 1 | cut -c 1-120)"
  done
}
