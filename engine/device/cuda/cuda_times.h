// CudaTimes: the times of points of CUDA streams by timing events, on the host's clock.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "engine/device/device.h"

namespace ds::cuda {

/// Points of host streams have the host's times. Others are counted from an event at the start of
/// the run, whose time on the host's clock is known to half of the time that it takes to wait for
/// it. The device counts in steps of about 0.5 us.
class CudaTimes final : public HostTimes {
 public:
  explicit CudaTimes(std::size_t points);
  ~CudaTimes() override;
  CudaTimes(const CudaTimes&) = delete;
  CudaTimes& operator=(const CudaTimes&) = delete;
  void start(Stream& compute) override;
  void note(std::size_t point, Stream& stream) override;
  [[nodiscard]] Clock::time_point at(std::size_t point) override;

 private:
  std::vector<cudaEvent_t> events_;  // by point; the last one marks the start
  std::vector<char> on_device_;      // by point; not bool: several threads write
  Clock::time_point started_{};
};

}  // namespace ds::cuda
