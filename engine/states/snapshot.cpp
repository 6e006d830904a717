// Copies host memory in blocks that threads take in turn, and device memory by the device.
#include "engine/states/snapshot.h"

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

// Large enough for stores that bypass the caches, small enough that threads end together.
constexpr std::size_t kBlock = std::size_t{4} << 20;
constexpr std::size_t kTouched = std::size_t{64} << 20;

/// Calls body(i) for every i below `count`; the threads take the next index in turn.
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
    // At a limit of threads, fewer threads do the work.
  }
  work();
}

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

Snapshot::Snapshot(Device& device, HeldStates& held, std::span<std::byte> memory, int threads)
    : device_(device),
      held_(held),
      memory_(memory),
      threads_(threads),
      device_copied_(device.make_event()),
      device_stream_(device.is_host() ? nullptr : device.make_side_stream("snapshot")),
      host_stream_(device.make_host_stream("snapshot")) {}

Snapshot::~Snapshot() = default;

void Snapshot::begin(const Executor& executor, std::span<const SavedTile> tiles) {
  began_ = Clock::now();
  of_device_.clear();
  of_host_.clear();
  ranges_.clear();
  for (const SavedTile& tile : tiles) {
    if (tile.in_files) continue;
    std::byte* const to = memory_.data() + tile.snapshot_at;
    const std::int64_t low = add(executor, tile.value, tile.offset, tile.elements, to);
    if (tile.high != kNoValue) add(executor, tile.high, tile.high_offset, tile.elements, to + low);
  }
  is_there_ = false;
  for (const Copy& copy : of_device_) device_.copy(copy.to, copy.from, copy.bytes, *device_stream_);
  if (device_stream_) {
    device_copied_->record(*device_stream_);
    device_copied_->make_wait(*host_stream_);
  }
  const auto copy = [](void* self, std::size_t) {
    static_cast<Snapshot*>(self)->copy_host_memory();
  };
  host_stream_->submit({copy, this, 0});
  held_.hold(ranges_, *host_stream_);
}

std::int64_t Snapshot::add(const Executor& executor, ValueId id, std::int64_t offset,
                           std::int64_t elements, std::byte* to) {
  const Tensor tensor = executor.tensor(id);
  const std::int64_t first = offset * size_of(tensor.dtype),
                     bytes = elements * size_of(tensor.dtype);
  const std::byte* const from = static_cast<const std::byte*>(tensor.data) + first;
  const std::int64_t begin = executor.offset(id) + first;
  ranges_.push_back({executor.tier(id), begin, begin + bytes});
  const auto size = static_cast<std::size_t>(bytes);
  if (!executor.host_reaches(id)) {
    of_device_.push_back({to, from, size});
    return bytes;
  }
  for (std::size_t at = 0; at < size; at += kBlock)
    of_host_.push_back({to + at, from + at, std::min(kBlock, size - at)});
  return bytes;
}

// Runs on the host stream's thread, after the device's copies.
void Snapshot::copy_host_memory() {
  share_out(of_host_.size(), threads_, [this](std::size_t i) {
    bulk_copy(of_host_[i].to, of_host_[i].from, of_host_[i].bytes);
  });
  {
    const std::lock_guard lock(mutex_);
    copied_ = Clock::now();
    is_there_ = true;
  }
  there_.notify_all();
}

// No deadline: copying memory takes about 1 s at most, and the steps notice a device that hangs.
void Snapshot::wait() {
  std::unique_lock lock(mutex_);
  there_.wait(lock, [this] { return is_there_; });
}

SnapshotTimes Snapshot::end() {
  if (device_stream_) device_stream_->synchronize();
  host_stream_->synchronize();
  const Clock::time_point waited = held_.first_wait();
  return {.copied_s = seconds_of(copied_ - began_),
          .stall_s = waited < copied_ ? seconds_of(copied_ - waited) : 0};
}

void touch_pages(std::span<std::byte> memory) {
  const std::size_t blocks = (memory.size() + kTouched - 1) / kTouched;
  share_out(blocks, default_thread_count(), [&](std::size_t i) {
    touch(memory.subspan(i * kTouched, std::min(kTouched, memory.size() - i * kTouched)));
  });
}

}  // namespace ds
