// CudaDevice: memory by plain cudaMalloc and pinned pages; streams, events, copies.
#include "engine/device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/base/cgroup_limits.h"
#include "engine/base/error.h"
#include "engine/device/cpu/bulk_copy.h"
#include "engine/device/cuda/check.h"
#include "engine/device/cuda/cuda_event.h"
#include "engine/device/cuda/cuda_recording.h"
#include "engine/device/cuda/cuda_stream.h"
#include "engine/device/cuda/cuda_times.h"
#include "engine/device/cuda/describe.h"
#include "engine/device/cuda/flag_pool.h"
#include "engine/device/cuda/host_stream.h"
#include "engine/device/cuda/pinned_memory.h"

namespace ds::cuda {
namespace {

/// Estimates the memory that libraries allocate beside the plan: the code of their kernels, which
/// is loaded on demand, and with several ranks on a node also NCCL's buffers. On small devices,
/// which run small jobs, a sixteenth is reserved.
std::size_t library_reserve(std::size_t total, int local_ranks) {
  constexpr std::size_t kCode = std::size_t{1} << 30, kNcclBuffers = std::size_t{2} << 30;
  return std::min(kCode + (local_ranks > 1 ? kNcclBuffers : 0), total / 16);
}

/// Returns whether the user is looking for a failing op, which CUDA could not name within a graph.
bool launches_block() {
  const char* const text = std::getenv("CUDA_LAUNCH_BLOCKING");
  return text != nullptr && std::string_view(text) == "1";
}

std::size_t bytes_free_now() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "getting the GPU's free memory");
  return free;
}

/// Bytes of all arenas of a device. Arenas may outlive the device.
using BytesTaken = std::shared_ptr<std::atomic<std::size_t>>;

class DeviceArena final : public Arena {
 public:
  DeviceArena(std::size_t bytes, BytesTaken taken) : bytes_(bytes), taken_(std::move(taken)) {
    if (bytes != 0) check(cudaMalloc(&data_, bytes), fmt::format("allocating {} bytes", bytes));
    *taken_ += bytes_;
  }
  ~DeviceArena() override {
    *taken_ -= bytes_;
    cudaFree(data_);
    cudaGetLastError();
  }
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;

  std::byte* data() override { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t bytes_;
  BytesTaken taken_;
  void* data_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(int device, std::size_t reserve)
      : device_(device),
        reserve_(reserve),
        free_at_first_(bytes_free_now()),
        description_(describe_device(device)),
        wait_value_(find_wait_value()),
        flags_(std::make_shared<FlagPool>()) {
    check(cudaDeviceGetStreamPriorityRange(&last_, &first_),
          "getting the range of stream priorities");
  }

  [[nodiscard]] std::string description() const override { return description_; }
  [[nodiscard]] bool is_host() const override { return false; }
  [[nodiscard]] std::size_t free_bytes(Tier tier) const override {
    if (tier != Tier::device) return available_memory_bytes();
    const std::size_t free = bytes_free_now();
    return free - std::min(free, still_reserved(free));
  }

  // An error comes again with the first copy.
  void enter_thread() override { static_cast<void>(cudaSetDevice(device_)); }

  std::unique_ptr<Arena> allocate(Tier tier, std::size_t bytes) override {
    const bool on_device = tier == Tier::device;
    const std::size_t free = free_bytes(tier);
    if (bytes > free) {
      throw Error(ErrorKind::config,
                  on_device ? fmt::format("the plan needs {} bytes of GPU memory, but {} are "
                                          "free ({} are reserved for libraries)",
                                          bytes, free, still_reserved(bytes_free_now()))
                            : fmt::format("the plan needs {} bytes of host memory, but {} are free "
                                          "here",
                                          bytes, free),
                  on_device ? "use a smaller batch.micro or seq_len, recomputation, a higher "
                              "zero.stage or offload; nvidia-smi shows who else uses the GPU"
                            : "offload less, or start fewer ranks on this node");
    }
    if (on_device) return std::make_unique<DeviceArena>(bytes, taken_);
    return make_pinned_arena(bytes);
  }

  std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<CudaStream>("compute", last_);
  }
  std::unique_ptr<Stream> make_side_stream(const char* name) override {
    // Work that other ranks wait for has priority.
    const std::string_view use = name;
    const bool urgent = use == "gather" || use == "reduce";
    return std::make_unique<CudaStream>(name, urgent ? first_ : last_);
  }
  std::unique_ptr<Stream> make_host_stream(const char* name) override {
    return std::make_unique<HostStream>(name, device_);
  }
  std::unique_ptr<Event> make_event() override {
    return std::make_unique<CudaEvent>(flags_, wait_value_);
  }
  std::unique_ptr<StreamTimes> make_stream_times(std::size_t points) override {
    return std::make_unique<CudaTimes>(points);
  }

  std::unique_ptr<Recording> record(Stream& stream, FunctionRef<void()> launch,
                                    std::unique_ptr<Recording> earlier) override {
    return launches_block() ? nullptr : record_graph(stream, launch, std::move(earlier));
  }

  void copy(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    if (bytes == 0) return;
    if (auto* const host = dynamic_cast<HostStream*>(&stream)) {
      DS_ASSERT(HostStream::current() == host,
                "a host stream's copy must be called from its own work");
      bulk_copy(to, from, bytes);
      return;
    }
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)), "a copy");
  }
  void zero(void* data, std::size_t bytes, Stream& stream) override {
    if (bytes == 0) return;
    if (auto* const host = dynamic_cast<HostStream*>(&stream)) {
      DS_ASSERT(HostStream::current() == host,
                "a host stream's zeroing must be called from its own work");
      std::memset(data, 0, bytes);
      return;
    }
    check(cudaMemsetAsync(data, 0, bytes, stream_of(stream)), "zeroing");
  }

 private:
  // Memory that libraries have allocated by now, such as communicators, is not reserved again.
  [[nodiscard]] std::size_t still_reserved(std::size_t free) const {
    const std::size_t gone = free_at_first_ - std::min(free_at_first_, free + *taken_);
    return reserve_ - std::min(reserve_, gone);
  }

  int device_;
  std::size_t reserve_;
  std::size_t free_at_first_;
  BytesTaken taken_ = std::make_shared<std::atomic<std::size_t>>(0);
  std::string description_;
  WaitValue wait_value_;
  std::shared_ptr<FlagPool> flags_;
  int first_ = 0, last_ = 0;  // stream priorities
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(int local_rank, int local_ranks) {
  const std::variant<int, Error> chosen = choose_device(visible_devices(), local_rank, local_ranks);
  if (const Error* const error = std::get_if<Error>(&chosen)) throw *error;
  const int device = std::get<int>(chosen);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), fmt::format("CUDA device {}", device));
  if (const auto error = check_capability(properties.name, properties.major, properties.minor))
    throw *error;
  if (properties.canUseHostPointerForRegisteredMem == 0) {
    throw Error(
        ErrorKind::config,
        fmt::format("{} cannot access host memory by the host's addresses", properties.name),
        "set device.backend = \"cpu\" to train without it");
  }
  // Blocking: a thread that waits for the device leaves its core to other threads.
  check(cudaInitDevice(device, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid),
        fmt::format("opening CUDA device {} ({})", device, properties.name));
  check(cudaSetDevice(device), fmt::format("CUDA device {} ({})", device, properties.name));
  return std::make_unique<CudaDevice>(device,
                                      library_reserve(properties.totalGlobalMem, local_ranks));
}

}  // namespace ds::cuda
