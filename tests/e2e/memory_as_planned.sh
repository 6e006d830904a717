#!/usr/bin/env bash
# Resident memory grows as planned, within max(3 %, 8 MiB), for small and larger models, fp32 and bf16, stages, recomputation and
# offload; file sizes are as planned; and the ZeRO stages save what the ZeRO paper says.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
if ldd "$dsrunner" | grep -q 'lib[at]san'; then
  echo "skipped: a sanitizer uses memory of its own"
  exit 77
fi

# job WORLD NAME KEYS...: runs two steps and checks the memory
job() {
  run_job "$@" train.steps=2
  check_memory "$2"
}

# check_memory NAME: compares the growth of resident memory with the plan
check_memory() {
  set -- "" "$1"
  local planned before after grown allowed off
  planned=$(summary_of "$2" planned_bytes)
  before=$(summary_of "$2" rss_anon_before_arena)
  after=$(summary_of "$2" rss_anon_step2)
  [ -n "$planned" ] && [ -n "$before" ] && [ -n "$after" ] || { fail "$2: the summary lacks a figure"; return; }
  grown=$((after - before))
  allowed=$((planned * 3 / 100))
  [ $allowed -ge $((8 << 20)) ] || allowed=$((8 << 20))
  off=$((grown - planned))
  printf '%-22s planned %11d  grown %11d  off %9d  allowed %9d bytes\n' "$2" "$planned" "$grown" "$off" "$allowed"
  [ ${off#-} -le $allowed ] || fail "$2: memory grew by $grown bytes, planned were $planned"
  # The check can fail: the plan exceeds the tolerance.
  [ "$planned" -gt $allowed ] || fail "$2: too small a model to see anything"
}

# job_with_files WORLD NAME KEYS...: offloads to nameless files in $work/disk and measures those of rank 0 while it runs
job_with_files() {
  local name=$2 planned size=0 file
  mkdir -p "$work/disk"
  start_job "$@" train.steps=100000 "offload.optimizer.paths=[\"$work/disk\"]"
  wait_for 60 grep -qE '^step +3/' "$work/$name.0.out" || fail "$name: no third step: $(head -20 "$work/$name.0.out")"
  for file in /proc/"${pids[0]}"/fd/*; do
    case $(readlink "$file") in "$work"/disk/*) size=$((size + $(stat -L -c '%b * 512' "$file"))) ;; esac
  done
  kill -TERM "${pids[@]}"
  wait "${pids[@]}" 2>/dev/null
  pids=()
  check_memory "$name"
  planned=$(summary_of "$name" planned_file_bytes)
  printf '%-22s planned %11d  on disk %9d bytes\n' "$name" "$planned" "$size"
  [ "$planned" -gt $((8 << 20)) ] || fail "$name: too few bytes in files to see anything"
  local off=$((size - planned)) allowed=$((planned * 3 / 100))
  [ $allowed -ge $((8 << 20)) ] || allowed=$((8 << 20))
  [ ${off#-} -le $allowed ] || fail "$name: $size bytes in files, planned were $planned"
}

quickstart=(model.layers=4 model.hidden=256 model.heads=4 data.seq_len=128 batch.micro=8)
larger=(model.layers=8 model.hidden=480 model.heads=8 data.seq_len=128 batch.micro=2)
deep=(model.layers=12 model.hidden=256 model.heads=4 data.seq_len=64 batch.micro=2 batch.accum=2)
job 1 quickstart-fp32 "${quickstart[@]}" device.threads=2
job 2 quickstart-fp32-two "${quickstart[@]}" determinism.virtual_ranks=4
job 1 22M-bf16-selective "${larger[@]}" precision.dtype=bf16 recompute.policy=selective device.threads=2
job 2 stage1-fp32 "${quickstart[@]}" zero.stage=1 zero.reduce_bucket=100000
job 2 stage2-bf16-block "${deep[@]}" precision.dtype=bf16 zero.stage=2 recompute.policy=block
job 3 stage3-bf16-boundary "${deep[@]}" precision.dtype=bf16 zero.stage=3 determinism.order=boundary
job 2 stage3-fp32-alone "${quickstart[@]}" zero.stage=3 zero.overlap=false zero.gather_bucket=50000

# What does not train has no gradient and no states; an adapter has both, and its model neither.
freeze='train.freeze=["wte*","*.mlp.*"]'
job 1 deep-bf16 "${deep[@]}" precision.dtype=bf16
job 1 frozen-bf16 "${deep[@]}" precision.dtype=bf16 "$freeze"
job 2 frozen-stage3 "${deep[@]}" precision.dtype=bf16 zero.stage=3 "$freeze"
job 2 adapters-stage2 "${deep[@]}" precision.dtype=bf16 zero.stage=2 lora.rank=4
job 1 llama-frozen-cpu model.preset=llama-tiny model.hidden=256 model.layers=8 model.heads=4 data.seq_len=64 batch.micro=2 \
  'train.freeze=["layers.0.*","layers.1.*","layers.2.*"]' offload.optimizer.device=cpu offload.optimizer.tile=65536
# The embedding and two thirds of each block need no states of 12 bytes, and no gradient.
saved=$(($(summary_of deep-bf16 planned_bytes) - $(summary_of frozen-bf16 planned_bytes)))
[ $saved -gt $(((12 * 8 * 256 * 256 + 256 * 256) * 12)) ] || fail "frozen-bf16: the plan is only $saved bytes less"

offload=(offload.optimizer.tile=65536 zero.prefetch=1)
job 1 states-cpu-fp32 "${quickstart[@]}" "${offload[@]}" offload.optimizer.device=cpu
job 2 stage2-states-cpu "${deep[@]}" "${offload[@]}" precision.dtype=bf16 zero.stage=2 offload.optimizer.device=cpu
job 2 stage1-cpu-backward "${deep[@]}" "${offload[@]}" precision.dtype=bf16 zero.stage=1 offload.optimizer.device=cpu \
  offload.optimizer.update=backward offload.activation.device=cpu
job 2 stage3-all-cpu "${deep[@]}" "${offload[@]}" precision.dtype=bf16 zero.stage=3 offload.optimizer.device=cpu \
  offload.param.device=cpu recompute.policy=block
job_with_files 2 stage1-states-nvme "${deep[@]}" "${offload[@]}" precision.dtype=bf16 zero.stage=1 offload.optimizer.device=nvme
job_with_files 2 stage3-all-nvme "${deep[@]}" "${offload[@]}" precision.dtype=bf16 zero.stage=3 \
  offload.optimizer.device=nvme offload.param.device=nvme
# Asynchronous saves: spare slots for writes meanwhile take the size of the states once, even where states are kept twice.
saves=(checkpoint.every=2 checkpoint.keep=1 checkpoint.rate=4M)
job_with_files 2 stage1-nvme-saved "${deep[@]}" "${offload[@]}" precision.dtype=bf16 zero.stage=1 offload.optimizer.device=nvme \
  "checkpoint.dir=$work/saved1" "${saves[@]}"
job_with_files 2 nvme-backward-saved "${deep[@]}" "${offload[@]}" precision.dtype=bf16 zero.stage=1 offload.optimizer.device=nvme \
  offload.optimizer.update=backward "checkpoint.dir=$work/saved2" "${saves[@]}"
bytes() { summary_of "$1" planned_file_bytes; }
[ "$(bytes stage1-nvme-saved)" = $((2 * $(bytes stage1-states-nvme))) ] || fail "stage1-nvme-saved: not twice the states in files"
[ "$(bytes nvme-backward-saved)" = $((3 * $(bytes stage1-states-nvme))) ] || fail "nvme-backward-saved: not three times the states in files"

# Asynchronous saves, a save at the end, and saves that training waits for: the peak memory of a rank exceeds that of a run without
# saves by no more than planned, so there is no further copy of the states.
# saving WORLD NAME NAME_WITHOUT_SAVES KEYS...: compares peak memory with and without saves
saving() {
  local name=$2 same=$3 more planned states
  run_job "$1" "$name" train.steps=5 checkpoint.dir="$work/$name.saves" checkpoint.every=3 "${@:4}"
  check_memory "$name"
  [ -d "$work/$name.saves/step-00000003" ] && [ -d "$work/$name.saves/step-00000005" ] ||
    fail "$name: steps 3 and 5 were to be saved: $(ls "$work/$name.saves")"
  planned=$(($(summary_of "$name" planned_bytes) - $(summary_of "$same" planned_bytes)))
  more=$(($(summary_of "$name" peak_memory_bytes) - $(summary_of "$same" peak_memory_bytes)))
  states=$(($(summary_of "$same" parameters) * 12 / $1))
  printf '%-22s planned %11d more than without saves, at its most %9d; states of %9d bytes\n' "$name" $planned $more $states
  [ $more -le $((planned + (8 << 20))) ] || fail "$name: a save takes $more bytes, planned were $planned"
  [ $states -gt $((16 << 20)) ] || fail "$name: another copy would not be seen"
}
saving 1 saves-fp32 quickstart-fp32 "${quickstart[@]}" device.threads=2
saving 1 saves-waiting quickstart-fp32 "${quickstart[@]}" device.threads=2 checkpoint.async=false
job 1 halves "${deep[@]}" precision.dtype=bf16 precision.master=split16
saving 1 saves-halves halves "${deep[@]}" precision.dtype=bf16 precision.master=split16
saving 2 saves-states-cpu stage2-states-cpu "${deep[@]}" "${offload[@]}" precision.dtype=bf16 zero.stage=2 \
  offload.optimizer.device=cpu

# ZeRO's reduction (Rajbhandari et al., section 5): with weights of 2 bytes, gradients of 4 and states of 12, of 18 psi in total
# N ranks keep 6 + 12/N psi at stage 1, 2 + 16/N at stage 2, 18/N at stage 3. A rank saves that much compared with stage 0, less the
# bytes in flight: two gathered groups of weights, one group's gradient and its parts.
for stage in 0 1 2 3; do
  job 4 "paper-stage$stage" "${deep[@]}" precision.dtype=bf16 zero.stage=$stage determinism.order=step zero.prefetch=1
done
psi=$(summary_of paper-stage0 parameters)
group=$((12 * 256 * 256))  # parameters of one block, approximately the largest group
grown() { echo $(($(summary_of "$1" rss_anon_step2) - $(summary_of "$1" rss_anon_before_arena))); }
whole=$(grown paper-stage0)
for stage in 1 2 3; do
  case $stage in
    1) paper=$((12 * psi * 3 / 4)) under_way=0 ;;
    2) paper=$((16 * psi * 3 / 4)) under_way=$((8 * group)) ;;
    3) paper=$((18 * psi * 3 / 4)) under_way=$((12 * group)) ;;
  esac
  saved=$((whole - $(grown paper-stage$stage)))
  printf 'stage %d at world 4: saves %d of %d bytes, the paper %d, under way %d\n' $stage $saved "$whole" $paper $under_way
  [ $saved -ge $((paper - under_way - (8 << 20))) ] || fail "stage $stage saves $saved bytes, the paper says $paper"
done

[ $failures = 0 ] && echo "memory as planned: all as promised"
exit $((failures > 0))
