// CudaTimes: all events are made in the constructor.
#include "engine/device/cuda/cuda_times.h"

#include "engine/device/cuda/check.h"
#include "engine/device/cuda/cuda_stream.h"
#include "engine/device/cuda/host_stream.h"

namespace ds::cuda {

CudaTimes::CudaTimes(std::size_t points)
    : HostTimes(points), events_(points + 1), on_device_(points) {
  for (cudaEvent_t& event : events_)
    check(cudaEventCreate(&event), "creating an event for a trace");
}

CudaTimes::~CudaTimes() {
  for (const cudaEvent_t event : events_) cudaEventDestroy(event);
}

void CudaTimes::start(Stream& compute) {
  const Clock::time_point before = Clock::now();
  check(cudaEventRecord(events_.back(), stream_of(compute)), "starting a trace");
  check(cudaEventSynchronize(events_.back()), "starting a trace");
  started_ = before + (Clock::now() - before) / 2;
}

void CudaTimes::note(std::size_t point, Stream& stream) {
  on_device_[point] = dynamic_cast<HostStream*>(&stream) == nullptr ? 1 : 0;
  if (on_device_[point] == 0) return HostTimes::note(point, stream);
  check(cudaEventRecord(events_[point], stream_of(stream)), "timing an op for a trace");
}

Clock::time_point CudaTimes::at(std::size_t point) {
  if (on_device_[point] == 0) return HostTimes::at(point);
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, events_.back(), events_[point]),
        "reading the times of a trace");
  return started_ + std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double, std::milli>(milliseconds));
}

}  // namespace ds::cuda
