// CudaEvent: events between CUDA streams and host threads, in every direction.
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

/// The driver function that makes a stream wait for a word in memory.
using WaitValue = PFN_cuStreamWaitValue32_v11070;
/// Looks up the function. Errors: Error{config}: the driver is too old.
WaitValue find_wait_value();

/// How a wait is done, by where the event was recorded and who waits:
/// - CUDA stream, CUDA stream: cudaStreamWaitEvent.
/// - CUDA stream, host thread: the thread waits in cudaEventSynchronize.
/// - host thread, CUDA stream: cuStreamWaitValue32 for the count in pinned memory.
/// - host thread, host thread: the thread waits for the count.
/// Streams store failures and throw them in synchronize().
class CudaEvent final : public Event {
 public:
  CudaEvent(std::shared_ptr<FlagPool> flags, WaitValue wait_value);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void record(Stream& stream) override;
  void make_wait(Stream& stream) override;
  /// Returns true also if the device has failed, so that nobody waits forever.
  [[nodiscard]] bool has_passed() override;

 private:
  /// One CUDA event. A host thread that has not started its wait yet must still find the point that
  /// it was told to wait for, so the event is not recorded again until then.
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
  std::deque<Point> points_;  // mostly one; a deque keeps their addresses
  Point* point_ = nullptr;    // last recorded
  std::uint32_t issued_ = 0;  // records on host threads, counted from the flag's initial value
  Last last_ = Last::none;
};

}  // namespace ds::cuda
