// CpuDevice: arenas by mmap, streams and events by cpu_stream.h.
#include "engine/device/cpu/cpu_device.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/cgroup_limits.h"
#include "engine/base/error.h"
#include "engine/device/cpu/bulk_copy.h"
#include "engine/device/cpu/cpu_stream.h"

namespace ds {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Below this size, rounding up to huge pages would noticeably raise the resident size; above, huge
// pages save most TLB misses.
constexpr std::size_t kHugePagesFrom = std::size_t{32} << 20;

class CpuArena final : public Arena {
 public:
  explicit CpuArena(std::size_t bytes) : bytes_(bytes) {
    const bool huge = bytes >= kHugePagesFrom;
    mapped_ = bytes + (huge ? kHugePage : 0);
    if (mapped_ == 0) return;
    map_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map_ == MAP_FAILED) throw_errno(fmt::format("mmap of {} bytes", mapped_), errno);
    data_ = static_cast<std::byte*>(map_);
    if (!huge) return;
    const auto address = reinterpret_cast<std::uintptr_t>(map_);
    data_ += (kHugePage - address % kHugePage) % kHugePage;
    // Only whole huge pages: the tail stays in small pages, so nothing unused becomes resident.
    madvise(data_, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  }
  ~CpuArena() override {
    if (mapped_ != 0) munmap(map_, mapped_);
  }
  CpuArena(const CpuArena&) = delete;
  CpuArena& operator=(const CpuArena&) = delete;

  std::byte* data() override { return data_; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t bytes_;
  std::size_t mapped_ = 0;
  void* map_ = nullptr;
  std::byte* data_ = nullptr;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(std::string description) : description_(std::move(description)) {}

  [[nodiscard]] std::string description() const override { return description_; }
  [[nodiscard]] std::size_t free_bytes(Tier) const override { return available_memory_bytes(); }

  std::unique_ptr<Arena> allocate(Tier tier, std::size_t bytes) override {
    const std::size_t free = free_bytes(tier);
    if (bytes > free) {
      throw Error(ErrorKind::config,
                  fmt::format("the plan needs {} bytes of memory, but {} are free", bytes, free),
                  "use a smaller batch.micro, seq_len or model, or fewer ranks on this node");
    }
    return std::make_unique<CpuArena>(bytes);
  }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CallerStream>(); }
  std::unique_ptr<Stream> make_side_stream(const char* name) override {
    return std::make_unique<ThreadStream>(name);
  }
  std::unique_ptr<Stream> make_host_stream(const char* name) override {
    return std::make_unique<ThreadStream>(name);
  }
  [[nodiscard]] bool is_host() const override { return true; }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CpuEvent>(); }
  void copy(void* to, const void* from, std::size_t bytes, Stream&) override {
    bulk_copy(to, from, bytes);
  }
  void zero(void* data, std::size_t bytes, Stream&) override { std::memset(data, 0, bytes); }

 private:
  std::string description_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(std::string description) {
  return std::make_unique<CpuDevice>(std::move(description));
}

}  // namespace ds
