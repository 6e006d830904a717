// Pinned arenas: mmap, first touch by several threads, cudaHostRegister.
#include "engine/device/cuda/pinned_memory.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/device/cpu/thread_pool.h"
#include "engine/device/cuda/check.h"

namespace ds::cuda {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kHugePagesFrom = std::size_t{32} << 20;
constexpr std::size_t kBytesOfOneThread = std::size_t{256} << 20;

constexpr std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

class Mapping {
 public:
  explicit Mapping(std::size_t bytes) : bytes_(round_up(bytes, kPage)) {
    const bool huge = bytes_ >= kHugePagesFrom;
    mapped_ = bytes_ + (huge ? kHugePage : 0);
    map_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map_ == MAP_FAILED) throw_errno(fmt::format("mmap of {} bytes", mapped_), errno);
    data_ = static_cast<std::byte*>(map_);
    if (!huge) return;
    data_ += round_up(reinterpret_cast<std::uintptr_t>(map_), kHugePage) -
             reinterpret_cast<std::uintptr_t>(map_);
    // Only whole huge pages: the tail stays in small pages, so nothing unused becomes resident.
    madvise(data_, bytes_ / kHugePage * kHugePage, MADV_HUGEPAGE);
  }
  ~Mapping() { munmap(map_, mapped_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_, mapped_ = 0;
  void* map_ = nullptr;
  std::byte* data_ = nullptr;
};

void touch(std::byte* data, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kPage)
    *reinterpret_cast<volatile std::byte*>(data + at) = std::byte{0};
}

void touch_in_parallel(std::byte* data, std::size_t bytes) {
  const auto threads = static_cast<std::size_t>(touching_threads(bytes, default_thread_count()));
  const std::size_t share = round_up(bytes / threads + 1, kHugePage);
  std::vector<std::thread> helpers;
  for (std::size_t first = share; first < bytes; first += share)
    helpers.emplace_back(touch, data + first, std::min(share, bytes - first));
  touch(data, std::min(share, bytes));
  for (std::thread& helper : helpers) helper.join();
}

class PinnedArena final : public Arena {
 public:
  explicit PinnedArena(std::size_t bytes) : asked_(bytes), mapping_(bytes) {
    touch_in_parallel(mapping_.data(), mapping_.bytes());
    const cudaError_t status = cudaHostRegister(mapping_.data(), mapping_.bytes(),
                                                cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (status == cudaSuccess) return;
    cudaGetLastError();
    throw Error(ErrorKind::config,
                fmt::format("{} bytes of host memory cannot be pinned for the GPU: {} ({})", bytes,
                            cudaGetErrorString(status), cudaGetErrorName(status)),
                "leave more host memory free (device.host_memory), or offload less");
  }
  ~PinnedArena() override {
    // Copies in progress must finish first; a failure was reported where it happened.
    cudaDeviceSynchronize();
    cudaHostUnregister(mapping_.data());
    cudaGetLastError();
  }
  PinnedArena(const PinnedArena&) = delete;
  PinnedArena& operator=(const PinnedArena&) = delete;

  std::byte* data() override { return mapping_.data(); }
  [[nodiscard]] std::size_t bytes() const override { return asked_; }

 private:
  std::size_t asked_;
  Mapping mapping_;
};

class EmptyArena final : public Arena {
 public:
  std::byte* data() override { return nullptr; }
  [[nodiscard]] std::size_t bytes() const override { return 0; }
};

}  // namespace

int touching_threads(std::size_t bytes, int cpus) {
  const auto wanted = static_cast<int>(std::min<std::size_t>(bytes / kBytesOfOneThread + 1, 16));
  return std::clamp(wanted, 1, std::max(cpus, 1));
}

std::unique_ptr<Arena> make_pinned_arena(std::size_t bytes) {
  if (bytes == 0) return std::make_unique<EmptyArena>();
  return std::make_unique<PinnedArena>(bytes);
}

}  // namespace ds::cuda
