// HostStream: a stream of host code in a thread of its own beside the GPU's streams.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>

#include "engine/device/cpu/cpu_stream.h"

namespace ds::cuda {

class HostStream final : public Stream {
 public:
  HostStream(const char* name, int device);
  void submit(const Work& work) override { thread_.submit(work); }
  /// Waits for all work. Errors: failures of the GPU work that this stream waited for.
  void synchronize() override;

  /// Stores a failure until synchronize(); the first of several is kept. The thread continues, so
  /// that nobody waits forever.
  void note(cudaError_t status);
  /// Returns the stream whose thread calls; null in other threads.
  static HostStream* current();

 private:
  const char* name_;
  int device_;
  std::atomic<cudaError_t> failure_{cudaSuccess};
  ThreadStream thread_;
};

}  // namespace ds::cuda
