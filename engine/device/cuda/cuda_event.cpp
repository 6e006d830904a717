// CudaEvent: the four combinations of recording and waiting.
#include "engine/device/cuda/cuda_event.h"

#include <utility>

#include "engine/device/cuda/check.h"
#include "engine/device/cuda/driver_function.h"

namespace ds::cuda {
namespace {

/// Compares counts that may wrap at 2^32, as the driver's comparison does too.
bool has_reached(std::uint32_t now, std::uint32_t number) {
  return static_cast<std::int32_t>(now - number) >= 0;
}

/// Returns the host stream, or null for a CUDA stream.
HostStream* host_of(Stream& stream) { return dynamic_cast<HostStream*>(&stream); }
CudaStream& cuda_of(Stream& stream) {
  auto* const own = dynamic_cast<CudaStream*>(&stream);
  DS_ASSERT(own != nullptr, "an event can only order streams of its own device");
  return *own;
}

}  // namespace

WaitValue find_wait_value() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t status = find_driver_function("cuStreamWaitValue32", &function, &found);
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess || function == nullptr) {
    cudaGetLastError();
    throw Error(ErrorKind::config, "the NVIDIA driver has no cuStreamWaitValue32",
                "install a newer NVIDIA driver");
  }
  return reinterpret_cast<WaitValue>(function);
}

CudaEvent::CudaEvent(std::shared_ptr<FlagPool> flags, WaitValue wait_value)
    : flags_(std::move(flags)), wait_value_(wait_value), flag_(flags_->take()) {
  issued_ = flag_->reached.load(std::memory_order_relaxed);
}

CudaEvent::~CudaEvent() {
  for (Point& point : points_) cudaEventDestroy(point.event);
  flags_->give_back(flag_);
}

CudaEvent::Point& CudaEvent::free_point() {
  for (Point& point : points_) {
    if (point.waiting.load(std::memory_order_acquire) == 0) return point;
  }
  Point& point = points_.emplace_back();
  // Blocking: a waiting thread leaves its core to others.
  check(cudaEventCreateWithFlags(&point.event, cudaEventDisableTiming | cudaEventBlockingSync),
        "creating a CUDA event");
  return point;
}

void CudaEvent::record(Stream& stream) {
  if (HostStream* const host = host_of(stream)) {
    const auto reach = [](void* self, std::size_t number) {
      auto& flag = *static_cast<Flag*>(self);
      flag.reached.store(static_cast<std::uint32_t>(number), std::memory_order_release);
      flag.reached.notify_all();
    };
    last_ = Last::host;
    host->submit({reach, flag_, ++issued_});
    return;
  }
  CudaStream& cuda = cuda_of(stream);
  last_ = Last::device;
  point_ = &free_point();
  cuda.note(cudaEventRecord(point_->event, cuda.get()));
}

void CudaEvent::make_wait(Stream& stream) {
  HostStream* const host = host_of(stream);
  if (last_ == Last::none) return;
  if (last_ == Last::host) {
    host != nullptr ? wait_for_host(*host) : wait_for_host(cuda_of(stream));
    return;
  }
  if (host == nullptr) {
    CudaStream& cuda = cuda_of(stream);
    cuda.note(cudaStreamWaitEvent(cuda.get(), point_->event, cudaEventWaitDefault));
    return;
  }
  const auto wait = [](void* self, std::size_t) {
    auto& point = *static_cast<Point*>(self);
    HostStream::current()->note(cudaEventSynchronize(point.event));
    point.waiting.fetch_sub(1, std::memory_order_release);
  };
  point_->waiting.fetch_add(1, std::memory_order_relaxed);
  host->submit({wait, point_, 0});
}

bool CudaEvent::has_passed() {
  if (last_ == Last::none) return true;
  if (last_ == Last::host)
    return has_reached(flag_->reached.load(std::memory_order_acquire), issued_);
  const bool is_pending = cudaEventQuery(point_->event) == cudaErrorNotReady;
  // "Not ready" would stay as the thread's last error, which libraries read after their launches.
  if (is_pending) cudaGetLastError();
  return !is_pending;
}

void CudaEvent::wait_for_host(CudaStream& stream) {
  if (has_reached(flag_->reached.load(std::memory_order_acquire), issued_)) return;
  // The driver's error codes equal the runtime's.
  stream.note(static_cast<cudaError_t>(wait_value_(stream.get(),
                                                   reinterpret_cast<CUdeviceptr>(&flag_->reached),
                                                   issued_, CU_STREAM_WAIT_VALUE_GEQ)));
}

void CudaEvent::wait_for_host(HostStream& stream) {
  const auto wait = [](void* self, std::size_t number) {
    auto& reached = static_cast<Flag*>(self)->reached;
    const auto wanted = static_cast<std::uint32_t>(number);
    for (std::uint32_t now = reached.load(std::memory_order_acquire); !has_reached(now, wanted);
         now = reached.load(std::memory_order_acquire)) {
      reached.wait(now, std::memory_order_acquire);
    }
  };
  stream.submit({wait, flag_, issued_});
}

}  // namespace ds::cuda
