// What tests and the fake libraries ask of the emulation beyond CUDA's own functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda_runtime_api.h"

namespace emulation {

/// Read from the environment at the first call of any CUDA function; tests may set them again while
/// nothing is queued.
struct Knobs {
  std::uint64_t seed = 1;  // DS_EMULATION_SEED: of all orders
  int devices = 1;         // DS_EMULATION_DEVICES; 0: cudaErrorNoDevice
  bool driver = true;      // DS_EMULATION_DRIVER=none: cudaErrorInsufficientDriver
  std::size_t memory = std::size_t{2} << 30;  // DS_EMULATION_MEMORY: bytes of each device
  int major = 9, minor = 0;                   // DS_EMULATION_COMPUTE=8.0: compute capability
  std::uint64_t fail_launch = 0;  // DS_EMULATION_FAIL_LAUNCH=K: the K-th launch fails (from 1)
  bool hide = false;  // DS_EMULATION_HIDE=1: device memory is out of reach between calls of CUDA
  std::uint64_t fail_kernel = 0;  // DS_EMULATION_FAIL_KERNEL=K: the K-th to run ends the device
};
Knobs knobs();
void set_knobs(const Knobs& knobs);

/// The first fault's text since reset_faults(): which kernel, block and thread, and why. Empty if
/// there was none.
std::string fault();
/// Makes the device usable again after a fault; queued work is dropped.
void reset_faults();
/// Kernels launched so far.
std::uint64_t launches();

/// Queues work of a fake library on `stream`. `attempt` is called, by any thread, until it returns
/// cudaSuccess (done) or an error (which ends the device); cudaErrorNotReady: others may go first.
/// It must not block, and may call no CUDA function; a graph that captured it attempts it in every
/// launch. `destroy` is called once, in the end.
cudaError_t enqueue(cudaStream_t stream, cudaError_t (*attempt)(void* self), void* self,
                    void (*destroy)(void* self));
/// Whether [data, data + bytes) is device memory or registered.
bool reachable(const void* data, std::size_t bytes);

}  // namespace emulation
