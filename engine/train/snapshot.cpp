// Host memory in blocks that threads take one after the other; the device's by its own copies.
#include "engine/train/snapshot.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "engine/device/cpu/bulk_copy.h"
#include "engine/device/cpu/thread_pool.h"
#include "engine/program/pack.h"

namespace ds {
namespace {

// Long enough for stores past the caches, short enough that threads end together.
constexpr std::size_t kBlock = std::size_t{4} << 20;
constexpr std::size_t kTouched = std::size_t{64} << 20;

/// One of the process's CPUs each, but for the one that the caller is on, if `threads` fill them: a
/// new thread may else begin behind its parent, on the same one. A refusal costs speed only.
void spread_out(std::vector<std::jthread>& others, std::size_t threads) {
  cpu_set_t all;
  CPU_ZERO(&all);
  if (sched_getaffinity(0, sizeof(all), &all) != 0) return;
  if (static_cast<std::size_t>(CPU_COUNT(&all)) != threads) return;
  const int own = sched_getcpu();
  int cpu = 0;
  for (std::jthread& thread : others) {
    while (cpu < CPU_SETSIZE && (cpu == own || !CPU_ISSET(static_cast<unsigned>(cpu), &all))) ++cpu;
    if (cpu == CPU_SETSIZE) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(cpu++), &one);
    pthread_setaffinity_np(thread.native_handle(), sizeof(one), &one);
  }
}

/// Calls body(i) for every i below `count`, by threads that take one after the other.
template <class Body>
void share_out(std::size_t count, int threads, const Body& body) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::jthread> others;
  const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(threads, 1)), count);
  try {
    while (others.size() + 1 < wanted) others.emplace_back(work);
  } catch (const std::system_error&) {
    // A limit of threads: fewer do it too.
  }
  spread_out(others, others.size() + 1);
  work();
}

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
    share_out(of_host_.size(), with_.threads, [this](std::size_t i) {
      bulk_copy(of_host_[i].to, of_host_[i].from, of_host_[i].bytes);
    });
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

  const SnapshotCopy& with_;
  std::byte* const to_;
  std::vector<Copy> of_device_, of_host_;
};

void touch(std::span<std::byte> memory) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE) == 0) return;
#endif
  for (std::size_t at = 0; at < memory.size(); at += static_cast<std::size_t>(kPage)) {
    auto* const byte = reinterpret_cast<volatile std::byte*>(memory.data() + at);
    *byte = *byte;
  }
}

}  // namespace

void copy_snapshot(const SnapshotCopy& with, std::span<const SavedTile> tiles, std::byte* to) {
  Copies copies(with, to);
  for (const SavedTile& tile : tiles) copies.add(tile);
  copies.run();
}

void touch_pages(std::span<std::byte> memory) {
  const std::size_t blocks = (memory.size() + kTouched - 1) / kTouched;
  share_out(blocks, default_thread_count(), [&](std::size_t i) {
    touch(memory.subspan(i * kTouched, std::min(kTouched, memory.size() - i * kTouched)));
  });
}

}  // namespace ds
