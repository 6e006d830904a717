// A growing byte buffer that does not zero new room.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace ds::launcher {

class OutputBuffer {
 public:
  /// Returns room for at least `count` more bytes; commit() says how many were written there.
  char* room(std::size_t count) {
    if (capacity_ - size_ < count) grow(size_ + count);
    return data_.get() + size_;
  }
  void commit(std::size_t count) { size_ += count; }
  void append(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(room(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  [[nodiscard]] std::string_view view() const { return {data_.get(), size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  void swap(OutputBuffer& other) noexcept {
    data_.swap(other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  void grow(std::size_t needed) {
    const std::size_t capacity = needed * 2 < kFirst ? kFirst : needed * 2;
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
    capacity_ = capacity;
  }

  static constexpr std::size_t kFirst = 4096;
  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace ds::launcher
