// UringRing: the memory that io_uring shares with the kernel: a ring of orders and a ring of ends.
// Knows nothing about files.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/unique_fd.h"
#include "engine/storage/uring_calls.h"

namespace ds {

/// Memory mapped from the descriptor of a ring.
class RingMapping {
 public:
  RingMapping() = default;
  /// Errors: `memory()` is null and errno is set.
  RingMapping(int ring, std::size_t size, unsigned long long offset);
  RingMapping(RingMapping&& other) noexcept;
  RingMapping& operator=(RingMapping&& other) noexcept;
  ~RingMapping();
  [[nodiscard]] std::byte* memory() const { return memory_; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

struct RingEnd {
  std::uint64_t tag = 0;  // user_data of the order
  int result = 0;
};

/// Used by one thread.
class UringRing {
 public:
  /// Creates a ring with room for `entries` orders. Returns false with errno on failure (ENOSYS
  /// also for kernels before 5.11).
  bool open(unsigned entries, const UringCalls& calls);

  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Returns a zeroed order to fill in and queues it. At most `entries` may be unsubmitted.
  io_uring_sqe& next_order();
  [[nodiscard]] unsigned unsubmitted() const { return unsubmitted_; }
  void submitted(unsigned count) { unsubmitted_ -= count; }
  /// Returns the oldest end that was not taken yet.
  std::optional<RingEnd> take_end();

 private:
  UniqueFd fd_;
  RingMapping rings_, orders_;
  unsigned unsubmitted_ = 0;
  unsigned order_mask_ = 0, end_mask_ = 0;
  unsigned* order_tail_ = nullptr;
  unsigned* order_array_ = nullptr;
  unsigned* end_head_ = nullptr;
  unsigned* end_tail_ = nullptr;
  io_uring_cqe* ends_ = nullptr;
};

}  // namespace ds
