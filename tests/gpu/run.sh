#!/usr/bin/env bash
# Runs all tests and benchmarks for a machine with a GPU, from a build or from a bundle (scripts/gpu_bundle.sh).
# docs/gpu.md says what each step shows; tests/gpu/results/README.md describes the result files.
#
#   tests/gpu/run.sh [--only STEP,...] [--quick] [--budget SECONDS] [--rounds N] [--no-peer]
#                    [--host-memory SIZE] [--results FOLDER] [--logs FOLDER]
#   steps: conformance equality losses ranks sanitizer bench, or a part of bench: bench:124m bench:1558m bench:llama8b
#          bench:offload bench:kernels
#   --host-memory 110G: host memory that benchmarks may offload to, if the machine has more than it reports
#   tests/gpu/run.sh --self-test     test this script itself in seconds on an emulated device
#                                    (DSLAUNCH_CUDA_PLUGIN); proves nothing about a GPU
#
# Exit: 0 all passed and at least one case ran on a GPU; 1 a case failed or nothing ran; 77 no GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
only='' quick='' budget='' rounds='' peer=1 results=$here/results logs='' self_test='' host_memory=''
die() { echo "run.sh: $*" >&2; exit 64; }
while [ $# -gt 0 ]; do
  case $1 in
    --only) only=${2:?}; shift ;;
    --budget) budget=${2:?}; shift ;;
    --rounds) rounds=${2:?}; shift ;;
    --host-memory) host_memory=${2:?}; shift ;;
    --results) results=${2:?}; shift ;;
    --logs) logs=${2:?}; shift ;;
    --quick) quick=1 ;;
    --no-peer) peer='' ;;
    --self-test) self_test=1 ;;
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) die "unknown option '$1' (see --help)" ;;
  esac
  shift
done
for step in ${only//,/ }; do
  case $step in
    conformance | equality | losses | ranks | sanitizer | bench | bench:124m | bench:1558m | bench:llama8b | bench:offload | \
      bench:kernels) ;;
    *) die "unknown step '$step' (see --help)" ;;
  esac
done

export PYTHONUNBUFFERED=1 LC_ALL=C
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT
. "$here/common.sh"
. "$here/steps.sh"
. "$here/bench.sh"

find_programs
if [ -n "$self_test" ]; then
  [ -n "${DSLAUNCH_CUDA_PLUGIN:-}" ] || die "--self-test needs DSLAUNCH_CUDA_PLUGIN, the path of the emulated plugin"
  kind=emulated
else
  kind=cuda
fi
work=$(mktemp -d)
trap 'stop_watcher; rm -rf "$work"' EXIT
logs=${logs:-$work/logs}
mkdir -p "$logs"
records=$work/records
: >"$records"
started=$SECONDS

look_for_device
gather_facts

wanted conformance && step_conformance
wanted equality && step_equality
wanted losses && step_losses
wanted ranks && step_ranks
wanted sanitizer && step_sanitizer
if wanted_any_bench; then
  bench_peak
  wanted bench:kernels && bench_kernels
  wanted bench:124m && bench_124m
  wanted bench:1558m && bench_1558m
  wanted bench:offload && bench_offload
  wanted bench:llama8b && bench_llama8b
fi
finish
