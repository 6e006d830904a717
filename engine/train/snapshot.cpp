// Host memory in blocks that threads take one after the other; the device's by its own copies.
#include "engine/train/snapshot.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "engine/device/cpu/bulk_copy.h"
#include "engine/program/pack.h"

namespace ds {
namespace {

// Long enough for stores past the caches, short enough that threads end together.
constexpr std::size_t kBlock = std::size_t{4} << 20;

struct Copy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

class Copies {
 public:
  Copies(const SnapshotCopy& with, std::byte* to) : with_(with), to_(to) {}

  void add(const SavedTile& tile) {
    if (tile.in_files) return;
    std::byte* const to = to_ + tile.snapshot_at;
    const std::size_t low = add(tile.value, tile.offset, tile.elements, to);
    if (tile.high != kNoValue) add(tile.high, tile.high_offset, tile.elements, to + low);
  }

  void run() {
    for (const Copy& copy : of_device_)
      with_.device.copy(copy.to, copy.from, copy.bytes, with_.stream);
    {
      const auto threads =
          std::min(static_cast<std::size_t>(std::max(with_.threads, 1)), of_host_.size());
      std::vector<std::jthread> others;
      for (std::size_t i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
      work();
    }
    with_.stream.synchronize();
  }

 private:
  std::size_t add(ValueId id, std::int64_t offset, std::int64_t elements, std::byte* to) {
    const Tensor tensor = with_.executor.tensor(id);
    const auto bytes = static_cast<std::size_t>(elements * size_of(tensor.dtype));
    const std::byte* const from =
        static_cast<const std::byte*>(tensor.data) + offset * size_of(tensor.dtype);
    if (!with_.executor.host_reaches(id)) {
      of_device_.push_back({to, from, bytes});
      return bytes;
    }
    for (std::size_t at = 0; at < bytes; at += kBlock)
      of_host_.push_back({to + at, from + at, std::min(kBlock, bytes - at)});
    return bytes;
  }

  void work() {
    for (std::size_t i = next_++; i < of_host_.size(); i = next_++)
      bulk_copy(of_host_[i].to, of_host_[i].from, of_host_[i].bytes);
  }

  const SnapshotCopy& with_;
  std::byte* const to_;
  std::vector<Copy> of_device_, of_host_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace

void copy_snapshot(const SnapshotCopy& with, std::span<const SavedTile> tiles, std::byte* to) {
  Copies copies(with, to);
  for (const SavedTile& tile : tiles) copies.add(tile);
  copies.run();
}

void touch_pages(std::span<std::byte> memory) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE) == 0) return;
#endif
  for (std::size_t at = 0; at < memory.size(); at += static_cast<std::size_t>(kPage)) {
    auto* const page = reinterpret_cast<volatile std::byte*>(memory.data() + at);
    *page = *page;
  }
}

}  // namespace ds
