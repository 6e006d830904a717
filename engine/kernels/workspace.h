// Scratch: allocates pieces of the workspace. The same code, run without memory, measures how much
// is needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/base/error.h"

namespace ds {

/// Pieces are 64-byte aligned and live until the Scratch is destroyed. An op makes one Scratch per
/// run.
class Scratch {
 public:
  /// Measures only: take() returns null.
  Scratch() = default;
  Scratch(std::byte* data, std::size_t bytes) : data_(data), capacity_(bytes) {}

  template <class T>
  T* take(std::int64_t count) {
    const std::size_t at = used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    if (data_ == nullptr) return nullptr;
    DS_ASSERT(used_ <= capacity_, "workspace_bytes() was called with smaller extents");
    return reinterpret_cast<T*>(data_ + at);
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0, used_ = 0;
};

}  // namespace ds
