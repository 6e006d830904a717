// Events between CUDA streams and host threads, in every direction.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "engine/device/cuda/cuda_stream.h"
#include "engine/device/cuda/flag_pool.h"
#include "engine/device/cuda/host_stream.h"
#include "engine/device/device.h"

namespace ds::cuda {

/// The driver's function by which a stream waits for a word in memory.
using WaitValue = PFN_cuStreamWaitValue32_v11070;
/// Errors: Error{config}: too old a driver.
WaitValue find_wait_value();

/// | recorded on | waiting     | how | | CUDA stream | CUDA stream | cudaStreamWaitEvent | | CUDA
/// stream | host thread | the thread waits in cudaEventSynchronize                          | |
/// host thread | CUDA stream | cuStreamWaitValue32 for the count in pinned memory                |
/// | host thread | host thread | the thread waits for the count | Failures are kept by the stream,
/// which throws them at its synchronize().
class CudaEvent final : public Event {
 public:
  CudaEvent(std::shared_ptr<FlagPool> flags, WaitValue wait_value);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void record(Stream& stream) override;
  void make_wait(Stream& stream) override;
  /// True also when the device has failed: nobody waits for it in vain.
  [[nodiscard]] bool has_passed() override;

 private:
  /// One of CUDA's events. A host thread that has not got to its wait yet must find the point that
  /// was meant, so it is not recorded again until then.
  struct Point {
    cudaEvent_t event = nullptr;
    std::atomic<int> waiting{0};
  };
  enum class Last { none, device, host };
  Point& free_point();
  void wait_for_host(CudaStream& stream);
  void wait_for_host(HostStream& stream);

  std::shared_ptr<FlagPool> flags_;
  WaitValue wait_value_;
  Flag* flag_;
  std::deque<Point> points_;  // mostly one; a deque, since they must stay where they are
  Point* point_ = nullptr;    // the last recorded
  std::uint32_t issued_ = 0;  // records on host threads, counted from what the flag held
  Last last_ = Last::none;
};

}  // namespace ds::cuda
