// A stream of host code beside the GPU's streams: a thread of its own.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>

#include "engine/device/cpu/cpu_stream.h"

namespace ds::cuda {

class HostStream final : public Stream {
 public:
  HostStream(const char* name, int device);
  void submit(const Work& work) override { thread_.submit(work); }
  /// Errors: what went wrong with the GPU's work that this stream waited for.
  void synchronize() override;

  /// Kept until synchronize(), the first of several: the thread goes on, so that nobody waits for
  /// it in vain.
  void note(cudaError_t status);
  /// The stream whose thread calls; null in other threads.
  static HostStream* current();

 private:
  const char* name_;
  int device_;
  std::atomic<cudaError_t> failure_{cudaSuccess};
  ThreadStream thread_;
};

}  // namespace ds::cuda
