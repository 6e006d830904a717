#!/usr/bin/env bash
# dsrunner and its CUDA plugin where there is no GPU: opened, every symbol found, and each lack said in one clear error.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
plugin=$DS_BIN/libdsengine_cuda.so cuda=13
[ -e "$plugin" ] || { [ -e "$DS_BIN/libdsengine_cuda12.so" ] && plugin=$DS_BIN/libdsengine_cuda12.so cuda=12; }
emulated=$DS_TESTS/libdsengine_cuda_emulated.so
head -c 5000 /dev/zero | tr '\0' 'a' >text
cat >tiny.toml <<'END'
[model]
preset = "gpt-tiny"
[data]
train = ["text"]
seq_len = 32
[batch]
micro = 1
accum = 1
[train]
steps = 1
END
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT CUDA_VISIBLE_DEVICES DSLAUNCH_CUDA_PLUGIN

# runner WORD...: as run does with dslaunch.
runner() {
  rc=0
  "$DS_BIN/dsrunner" "$@" >out 2>err </dev/null || rc=$?
}
says() { grep -qF -- "$1" out err || die "it does not say: $1"; }

# A program without its plugin: auto is the CPU, cuda an error with the places looked at.
mkdir alone
cp "$DS_BIN/dsrunner" alone
rc=0
alone/dsrunner --devices >out 2>err || rc=$?
expect 0 "devices without a plugin"
says "CPU, "
says "alone/libdsengine_cuda.so: cannot open shared object file"
rc=0
alone/dsrunner --check tiny.toml >out 2>err || rc=$?
expect 0 "auto without a plugin"
rc=0
alone/dsrunner --check tiny.toml device.backend=cuda >out 2>err || rc=$?
expect 65 "cuda without a plugin"
says "the CUDA backend (libdsengine_cuda.so) cannot be opened"
says 'set device.backend = "cpu"'

[ -e "$emulated" ] || die "the build made no emulated plugin"
# Both plugins beside the program: the driver's version decides, and the report says so.
mkdir both
cp "$DS_BIN/dsrunner" both
for name in libdsengine_cuda.so libdsengine_cuda12.so; do cp "$emulated" "both/$name"; done
# chosen DRIVER VERSION PLUGIN: with a driver that supports CUDA up to that version.
chosen() {
  rc=0
  LD_LIBRARY_PATH=$DS_TESTS/cuda_emulation/driver DS_FAKE_DRIVER_VERSION=$1 both/dsrunner --devices >out 2>err </dev/null || rc=$?
  expect 0 "a driver for CUDA $2"
  says "/both/$3 (the driver supports CUDA $2)"
}
chosen 12040 12.4 libdsengine_cuda12.so
chosen 12090 12.9 libdsengine_cuda12.so
chosen 13000 13.0 libdsengine_cuda.so
chosen 13020 13.2 libdsengine_cuda.so
rm both/libdsengine_cuda.so
chosen 13000 13.0 libdsengine_cuda12.so

# no_device NAME=VALUE... -- TEXT: on the emulation, so set.
no_device() {
  local settings=()
  while [ "$1" != -- ]; do settings+=("$1") && shift; done
  rc=0
  env DSLAUNCH_CUDA_PLUGIN="$emulated" "${settings[@]}" "$DS_BIN/dsrunner" --check tiny.toml \
    device.backend=cuda >out 2>err </dev/null || rc=$?
  expect 65 "${settings[*]}"
  says "$2"
  [ "$(grep -c '^dsrunner: ' err)" = 1 ] || die "it is said once"
}
no_device DS_EMULATION_DEVICES=0 -- "no CUDA device"
no_device DS_EMULATION_DRIVER=none -- "NVIDIA driver"
no_device DS_EMULATION_COMPUTE=7.0 -- "has compute capability 7.0, but 8.0 is needed"
no_device CUDA_VISIBLE_DEVICES=0,1 DS_EMULATION_DEVICES=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=4 RANK=0 WORLD_SIZE=4 \
  MASTER_ADDR=127.0.0.1 MASTER_PORT=1 -- "4 ranks on this node need a GPU each"
no_device DSLAUNCH_CUBLASLT=/nowhere -- "cuBLASLt ($(cd "$DS_TESTS/cuda_libraries" && echo libcublasLt.so.*)) was not found"
no_device DSLAUNCH_CUBLASLT="$DS_TESTS/cuda_libraries" DSLAUNCH_NCCL=/nowhere DS_EMULATION_DEVICES=2 LOCAL_RANK=0 \
  LOCAL_WORLD_SIZE=2 RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1 -- "NCCL (libnccl.so.2) was not found"
DSLAUNCH_CUDA_PLUGIN=$emulated runner --devices
says "device 0: Emulated GPU"

if [ ! -e "$plugin" ]; then
  echo "skipped: the real plugin was not built (no nvcc)"
  exit 77
fi
runner --devices
expect 0 "devices"
says "driver: "
says "plugin: $plugin ("
says "runtime: CUDA $cuda"
says "cuBLASLt: "
says "cuDNN: "
says "NCCL: "
if grep -q '^device 0' out; then
  echo "skipped: there is a GPU, so that what is said without one was not seen"
  exit 77
fi
says "no CUDA device"
runner --check tiny.toml
expect 0 "auto without a GPU"
runner --check tiny.toml device.backend=cuda
expect 65 "cuda without a GPU"
says "no CUDA device: no NVIDIA driver is installed"
# A driver of CUDA 12 suffices for the plugin for CUDA 12 only.
LD_LIBRARY_PATH=$DS_TESTS/cuda_emulation/driver DS_FAKE_DRIVER_VERSION=12040 runner --devices
expect 0 "devices with a driver for CUDA 12.4"
says "plugin: $plugin (the driver supports CUDA 12.4)"
if [ $cuda = 13 ]; then
  says "the NVIDIA driver is too old: it supports CUDA 12.4, but this program needs 13.0"
else
  says "no CUDA device: CUDA driver is a stub library"
fi
echo "the plugin opens, and says what is missing"
