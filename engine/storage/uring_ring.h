// The memory that io_uring shares with the kernel: orders in, ends out. Nothing here knows of
// files.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/unique_fd.h"
#include "engine/storage/uring_calls.h"

namespace ds {

/// Memory mapped from a ring's descriptor.
class RingMapping {
 public:
  RingMapping() = default;
  /// Errors: `memory()` is null, errno says why.
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

/// One thread uses it.
class UringRing {
 public:
  /// Room for `entries` orders; false and errno (ENOSYS: also a kernel before 5.11).
  bool open(unsigned entries, const UringCalls& calls);

  [[nodiscard]] int fd() const { return fd_.get(); }
  /// A zeroed order to fill in; its place is taken at once. Never more than `entries` unsubmitted.
  io_uring_sqe& next_order();
  [[nodiscard]] unsigned unsubmitted() const { return unsubmitted_; }
  void submitted(unsigned count) { unsubmitted_ -= count; }
  /// The oldest end that was not taken yet.
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
