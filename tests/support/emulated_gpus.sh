# Sourced after train_ranks.sh by tests of ranks on emulated GPUs that communicate by the fake NCCL.
# emulate_gpus COUNT: the ranks started from now on find so many. Returns 1 if this build has none.
emulate_gpus() {
  local plugin=$DS_TESTS/libdsengine_cuda_emulated.so nccl=$DS_TESTS/cuda_emulation/libnccl.so.2 cublaslt=$DS_TESTS/cuda_libraries
  [ -e "$plugin" ] && [ -e "$nccl" ] && [ -e "$cublaslt/libcublasLt.so" ] || return 1
  export DSLAUNCH_CUDA_PLUGIN=$plugin DSLAUNCH_NCCL=$nccl DSLAUNCH_CUBLASLT=$cublaslt
  export DS_EMULATION_DEVICES=$1 DS_EMULATION_MEMORY=4294967296 TMPDIR=$work
}
