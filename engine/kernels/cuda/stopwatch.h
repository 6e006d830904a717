// Stopwatch: measures time of work on a stream by the device's clock.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/device/cuda/check.h"

namespace ds::cuda {

class Stopwatch {
 public:
  Stopwatch() {
    check(cudaEventCreate(&begin_), "creating an event for a measurement");
    check(cudaEventCreate(&end_), "creating an event for a measurement");
  }
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Returns the duration of what `body` launches on `stream`; waits for it.
  template <class Body>
  float milliseconds(cudaStream_t stream, Body body) {
    check(cudaEventRecord(begin_, stream), "timing");
    body();
    check(cudaEventRecord(end_, stream), "timing");
    check(cudaEventSynchronize(end_), "timing");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "timing");
    return ms;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace ds::cuda
