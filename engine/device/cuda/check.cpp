// The table of CUDA errors for which a hint helps.
#include "engine/device/cuda/check.h"

#include <string>

namespace ds::cuda {
namespace {

struct Known {
  cudaError_t status;
  ErrorKind kind;
  const char* hint;
};

constexpr Known kKnown[] = {
    {cudaErrorMemoryAllocation, ErrorKind::config,
     "use a smaller batch.micro or seq_len, recomputation, a higher zero.stage, or offload"},
    {cudaErrorInsufficientDriver, ErrorKind::config,
     "install a newer NVIDIA driver (580 or later for CUDA 13), or libdsengine_cuda12.so"},
    {cudaErrorNoDevice, ErrorKind::config,
     "check nvidia-smi and CUDA_VISIBLE_DEVICES, or set device.backend = \"cpu\""},
    {cudaErrorInvalidDevice, ErrorKind::config, "start at most one rank per GPU"},
    {cudaErrorNoKernelImageForDevice, ErrorKind::config,
     "the GPU is older than compute capability 8.0; set device.backend = \"cpu\""},
    {cudaErrorUnsupportedPtxVersion, ErrorKind::config,
     "install a newer NVIDIA driver (580 or later for CUDA 13), or libdsengine_cuda12.so"},
    {cudaErrorSystemNotReady, ErrorKind::config,
     "on machines with NVSwitch, nvidia-fabricmanager must be running"},
    {cudaErrorDevicesUnavailable, ErrorKind::config,
     "another process holds the GPU in exclusive mode (nvidia-smi -q -d COMPUTE)"},
    {cudaErrorECCUncorrectable, ErrorKind::system, "the GPU's memory is faulty: use another GPU"},
    {cudaErrorIllegalAddress, ErrorKind::system,
     "a kernel accessed memory that is not its own; run the job on one node with "
     "CUDA_LAUNCH_BLOCKING=1 to see which op"},
    {cudaErrorLaunchFailure, ErrorKind::system,
     "a kernel failed; run the job on one node with CUDA_LAUNCH_BLOCKING=1 to see which op; dmesg "
     "shows the Xid"},
    {cudaErrorMisalignedAddress, ErrorKind::system,
     "a kernel used a misaligned address; run the job on one node with CUDA_LAUNCH_BLOCKING=1 to "
     "see which op"},
};

}  // namespace

Error error_of(cudaError_t status, std::string_view what) {
  ErrorKind kind = ErrorKind::system;
  std::string hint;
  for (const Known& known : kKnown) {
    if (known.status != status) continue;
    kind = known.kind;
    hint = known.hint;
  }
  return {kind,
          fmt::format("{}: {} ({}, CUDA error {})", what, cudaGetErrorString(status),
                      cudaGetErrorName(status), static_cast<int>(status)),
          hint};
}

void raise(cudaError_t status, std::string_view what) {
  cudaGetLastError();
  throw error_of(status, what);
}

}  // namespace ds::cuda
