#!/usr/bin/env bash
# Whole runs on an emulated GPU whose memory the host cannot touch between calls of CUDA: a stray access ends the process.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT CUDA_VISIBLE_DEVICES
emulation=$DS_TESTS/libds_cuda_emulation.so
[ -e "$emulation" ] || { echo "skipped: no emulation on this machine's processor"; exit 77; }
if ldd "$emulation" | grep -q 'lib[at]san'; then echo "skipped: Python cannot load a library with a sanitizer"; exit 77; fi
export DSLAUNCH_CUDA_PLUGIN=$DS_TESTS/libdsengine_cuda_emulated.so DSLAUNCH_CUBLASLT=$DS_TESTS/cuda_libraries DSLAUNCH_CACHE_DIR=
export DS_EMULATION_HIDE=1

# The check itself can fail: a program that reads what cudaMalloc gave it is ended.
cat >touch.py <<'END'
import ctypes, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
cuda, data = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()
assert cuda.cudaMalloc(ctypes.byref(data), ctypes.c_size_t(4096)) == 0
ctypes.string_at(data, 4)
END
rc=0
python3 touch.py "$emulation" >out 2>err || rc=$?
[ "$rc" = 139 ] || die "the host read device memory and went on ($rc)"
grep -q 'the host accessed memory' err || die "it is not said"

head -c 60000 /dev/urandom | base64 >text
cat >tiny.toml <<'END'
[model]
preset = "gpt-tiny"
[data]
train = ["text"]
seq_len = 32
[batch]
micro = 1
accum = 2
[train]
steps = 3
validate_batches = 2
[determinism]
order = "step"
[device]
backend = "cuda"
END
first=
# same NAME KEYS...: runs, and has the weights of the first run.
same() {
  local name=$1 hash
  shift
  rc=0
  "$DS_BIN/dsrunner" tiny.toml log.dir="$work/$name" "$@" >out 2>err </dev/null || rc=$?
  expect 0 "$name"
  hash=$(grep -o '"weights_hash": "[^"]*"' "$name/summary.json")
  echo "$name $hash"
  [ "$hash" = "${first:=$hash}" ] || die "$name: other weights than the first run's"
}
same plain sample.tokens=3 'sample.prompt="ab"'
same graphs device.graphs=on
same states-of-both offload.optimizer.device=cpu offload.optimizer.device_share=50 offload.activation.device=cpu
same files zero.stage=3 offload.param.device=nvme offload.grad.device=cpu offload.optimizer.device=nvme \
  "offload.optimizer.paths=[\"$work\"]"
# Two steps saved beside the training and at the end, from memory of the device; the third with states and weights in files.
rc=0
"$DS_BIN/dsrunner" tiny.toml log.dir="$work/half" train.steps=2 schedule.total=3 checkpoint.dir="$work/saves" checkpoint.every=1 \
  >out 2>err </dev/null || rc=$?
expect 0 half
same resumed checkpoint.dir="$work/saves" zero.stage=3 offload.param.device=nvme offload.optimizer.device=nvme \
  "offload.optimizer.paths=[\"$work\"]"
grep -q 'checkpoint: step 2 resumed from' out || die "not resumed"
# A plan that leaves too little for the measurement of the peak: the figure is missing, not the job.
DS_EMULATION_MEMORY=39500000 same little-memory
grep -q 'peak' "$work/out" && die "a peak without memory to measure it"
echo "no access of the host"

# A kernel that fails in a run of graphs: an op is named wherever it is found out, and no graph is in the way of who
# looks for the op.
for kernel in 1 280 300 320; do
  for blocking in 0 1; do
    rc=0
    DS_EMULATION_FAIL_KERNEL=$kernel CUDA_LAUNCH_BLOCKING=$blocking "$DS_BIN/dsrunner" tiny.toml log.dir="$work/failed" \
      device.graphs=on >out 2>err </dev/null || rc=$?
    expect 1 "kernel $kernel fails"
    grep -qE '^dsrunner: [a-z0-9.]+: .*(unspecified launch failure|EXECUTION_FAILED)' err || die "no op is named"
    grep -qE '^  hint: .*CUDA_LAUNCH_BLOCKING=1' err || die "it is not said how the op is found"
    ! { [ $blocking = 1 ] && grep -qF 'CUDA graph' err; } || die "a graph where launches block"
  done
done
