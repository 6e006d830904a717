// Functions of the emulation for tests and fake libraries, beyond CUDA's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda_runtime_api.h"

namespace emulation {

/// Settings, read from the environment at the first call of any CUDA function. Tests may change
/// them while nothing is queued.
struct Knobs {
  std::uint64_t seed = 1;  // DS_EMULATION_SEED: seed of all random orders
  int devices = 1;         // DS_EMULATION_DEVICES; 0: cudaErrorNoDevice
  bool driver = true;      // DS_EMULATION_DRIVER=none: cudaErrorInsufficientDriver
  std::size_t memory = std::size_t{2} << 30;  // DS_EMULATION_MEMORY: bytes of each device
  int major = 9, minor = 0;                   // DS_EMULATION_COMPUTE=8.0: compute capability
  std::uint64_t fail_launch = 0;  // DS_EMULATION_FAIL_LAUNCH=K: the K-th launch fails (from 1)
  bool hide = false;  // DS_EMULATION_HIDE=1: device memory is inaccessible between CUDA calls
  /// DS_EMULATION_FREED_LATE=MS, in a process whose DSLAUNCH_EPOCH is not 0: for so long after its
  /// first call, all memory belongs to a process that has ended.
  std::uint64_t freed_late = 0;
  std::uint64_t fail_kernel = 0;  // DS_EMULATION_FAIL_KERNEL=K: the K-th to run ends the device
};
Knobs knobs();
void set_knobs(const Knobs& knobs);

/// Returns the text of the first fault since reset_faults(): kernel, block, thread, and reason.
/// Empty if there was none.
std::string fault();
/// Makes the device usable again after a fault and drops queued work.
void reset_faults();
/// Returns the number of kernels launched so far.
std::uint64_t launches();

/// Queues work of a fake library on `stream`. Any thread may call `attempt`, until it returns
/// cudaSuccess (done) or an error (which ends the device); after cudaErrorNotReady other work may
/// run first. It must not block or call CUDA functions. A graph that captured it attempts it in
/// every launch. `destroy` is called once at the end.
cudaError_t enqueue(cudaStream_t stream, cudaError_t (*attempt)(void* self), void* self,
                    void (*destroy)(void* self));
/// Returns whether [data, data + bytes) is device memory or registered.
bool reachable(const void* data, std::size_t bytes);

}  // namespace emulation
