// CUDA's functions for streams, events and kernels.
#include <atomic>
#include <chrono>
#include <memory>

#include "cuda.h"
#include "runtime.h"

namespace emulation {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool holds(std::uint32_t found, std::uint32_t value, unsigned flags) {
  switch (flags & 3U) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<std::int32_t>(found - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return found == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (found & value) != 0;
    default:
      return ~(found | value) != 0;
  }
}

CUresult as_driver(cudaError_t status) { return static_cast<CUresult>(status); }

}  // namespace

cudaError_t launch_kernel(const cudaLaunchConfig_t& config, const void* function,
                          std::unique_ptr<KernelCall> call) {
  return with_device([&](Runtime& runtime, Held& held) {
    return runtime.launch(held, config, function, std::move(call));
  });
}

}  // namespace emulation

using namespace emulation;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return with_device([&](Runtime& runtime, Held&) {
    *stream = runtime.make_stream();
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return cudaStreamCreate(stream);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return cudaStreamCreate(stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return with_device([&](Runtime& runtime, Held&) {
    CUstream_st* const queue = stream == nullptr ? nullptr : runtime.find(stream);
    if (queue == nullptr) return cudaErrorInvalidResourceHandle;
    runtime.end_stream(queue);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return with_device(
      [&](Runtime& runtime, Held& held) { return runtime.wait_for_stream(held, stream); });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return with_device([&](Runtime& runtime, Held& held) {
    const CUstream_st* const queue = runtime.find(stream);
    if (queue == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t status = runtime.not_in_capture(stream); status != cudaSuccess)
      return status;
    if (queue->queue.empty()) return cudaSuccess;
    runtime.step(held);
    return queue->queue.empty() ? runtime.usable() : cudaErrorNotReady;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return with_device([&](Runtime& runtime, Held& held) {
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t status = runtime.not_in_capture(stream); status != cudaSuccess)
      return status;
    if (event->last == nullptr) return cudaSuccess;
    return runtime.enqueue(held, stream, {.waits_for = event->last});
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
  return with_device([&](Runtime& runtime, Held& held) {
    return runtime.enqueue(held, stream,
                           {.attempt =
                                [function, user_data] {
                                  function(user_data);
                                  return cudaSuccess;
                                },
                            .unlocked = true});
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return with_device([&](Runtime&, Held&) {
    *event = new CUevent_st{nullptr, (flags & cudaEventDisableTiming) == 0};
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::unique_ptr<CUevent_st> owned(event);
  return with_device([&](Runtime&, Held&) {
    return owned == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return with_device([&](Runtime& runtime, Held& held) {
    if (event == nullptr || runtime.find(stream) == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t status = runtime.not_in_capture(stream); status != cudaSuccess)
      return status;
    const auto mark = std::make_shared<Mark>();
    event->last = mark;
    return runtime.enqueue(held, stream, {.attempt = [mark] {
                             mark->seconds = seconds_now();
                             mark->done = true;
                             return cudaSuccess;
                           }});
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return with_device([&](Runtime& runtime, Held& held) {
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    const std::shared_ptr<Mark> mark = event->last;
    if (mark == nullptr) return cudaSuccess;
    return runtime.wait(held, [&mark] { return mark->done; });
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return with_device([&](Runtime& runtime, Held& held) {
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    const std::shared_ptr<Mark> mark = event->last;
    if (mark == nullptr || mark->done) return cudaSuccess;
    runtime.step(held);
    return mark->done ? runtime.usable() : cudaErrorNotReady;
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return with_device([&](Runtime&, Held&) {
    if (start == nullptr || end == nullptr || !start->timing || !end->timing ||
        start->last == nullptr || end->last == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    if (!start->last->done || !end->last->done) return cudaErrorNotReady;
    *milliseconds = static_cast<float>((end->last->seconds - start->last->seconds) * 1e3);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with_device([&](Runtime& runtime, Held&) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    const int most = runtime.knobs.major >= 9 ? 232448 : 166912;
    if (value < 0 || value > most) return cudaErrorInvalidValue;
    runtime.large_shared.insert(function);
    return cudaSuccess;
  });
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  return with_device([&](Runtime&, Held&) {
    *attributes = {};
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 64;
    attributes->maxDynamicSharedSizeBytes = 49152;
    return cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int block_size,
                                                          std::size_t shared_bytes) {
  return with_device([&](Runtime&, Held&) {
    if (block_size <= 0 || block_size > 1024) return cudaErrorInvalidValue;
    const int by_shared = static_cast<int>(kSharedBytes / (shared_bytes + 1024));
    *blocks = std::min(1024 / block_size, by_shared);  // assumes 64 registers per thread
    return cudaSuccess;
  });
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                             unsigned flags) {
  return as_driver(with_device([&](Runtime& runtime, Held& held) {
    auto* const word = reinterpret_cast<std::uint32_t*>(address);
    if (address % 4 != 0 || !runtime.memory.reachable(word, 4)) return cudaErrorInvalidValue;
    return runtime.enqueue(held, stream, {.attempt = [word, value, flags] {
                             const std::uint32_t found =
                                 std::atomic_ref(*word).load(std::memory_order_acquire);
                             return holds(found, value, flags) ? cudaSuccess : cudaErrorNotReady;
                           }});
  }));
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  return as_driver(with_device([&](Runtime& runtime, Held& held) {
    auto* const word = reinterpret_cast<std::uint32_t*>(address);
    if (address % 4 != 0 || !runtime.memory.reachable(word, 4)) return cudaErrorInvalidValue;
    return runtime.enqueue(held, stream, {.attempt = [word, value] {
                             std::atomic_ref(*word).store(value, std::memory_order_release);
                             return cudaSuccess;
                           }});
  }));
}

}  // extern "C"
