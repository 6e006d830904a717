// Measures a disk by writing for 0.15 s and then reading the written bytes for 0.15 s.
#include "engine/storage/disk_probe.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/deadline.h"
#include "engine/base/error.h"

namespace ds {
namespace {

constexpr std::chrono::milliseconds kTime{150};
constexpr std::int64_t kMaxChunk = 64 << 20;
constexpr std::int64_t kRegion = 256 << 20;  // larger than the cache inside a disk

/// Separately mapped pages that are unmapped at the end, so that the probe uses none of the rank's
/// memory afterwards.
class Pages {
 public:
  explicit Pages(std::int64_t size) : size_(static_cast<std::size_t>(size)) {
    memory_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw_errno("memory for measuring a disk", errno);
    std::memset(memory_, 0x5a, size_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(memory_, size_); }
  [[nodiscard]] std::span<std::byte> bytes() { return {static_cast<std::byte*>(memory_), size_}; }

 private:
  std::size_t size_;
  void* memory_;
};

struct Pass {
  double rate = 0;
  std::int64_t reached = 0;  // bytes of the region that were moved
};

/// Calls `move(offset)` for one chunk after the other until the time is over, and starts again at
/// the front of the region when it reaches the end.
template <typename Move>
Pass pass_over(std::int64_t region, std::int64_t chunk, Move move) {
  const Clock::time_point start = Clock::now();
  Pass pass;
  std::int64_t moved = 0;
  std::int64_t offset = 0;
  do {
    move(offset);
    moved += chunk;
    pass.reached = std::max(pass.reached, offset + chunk);
    offset = offset + 2 * chunk <= region ? offset + chunk : 0;
  } while (Clock::now() - start < kTime);
  pass.rate =
      static_cast<double>(moved) / std::chrono::duration<double>(Clock::now() - start).count();
  return pass;
}

}  // namespace

DiskRates measure_disk(TileFiles& files, std::int64_t bytes, std::int64_t chunk) {
  if (bytes == 0) return {};
  chunk = std::min({chunk, bytes, kMaxChunk});
  Pages pages(chunk);
  const Pass written = pass_over(std::min(bytes, kRegion), chunk,
                                 [&](std::int64_t at) { files.write(at, pages.bytes()); });
  // Ranges that were never written would read as zeros without touching the disk.
  const Pass read =
      pass_over(written.reached, chunk, [&](std::int64_t at) { files.read(at, pages.bytes()); });
  return {.read = read.rate, .write = written.rate};
}

}  // namespace ds
