// ByteWriter and ByteReader: numbers and texts as bytes, for what ranks tell each other. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ds {

/// Appends numbers as 8 bytes, little-endian, and texts after their length.
class ByteWriter {
 public:
  ByteWriter& put(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8)
      bytes_ += static_cast<char>(static_cast<unsigned char>(number >> shift));
    return *this;
  }
  ByteWriter& put(std::string_view text) {
    put(std::uint64_t{text.size()});
    bytes_ += text;
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what ByteWriter wrote. After bytes that are missing every number is 0 and every text
/// empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view bytes = take(8);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return value;
  }
  std::string text() { return std::string(take(number())); }

  /// Returns false once bytes were missing.
  [[nodiscard]] bool is_good() const { return good_; }
  /// Returns true when nothing was missing and nothing is left.
  [[nodiscard]] bool is_done() const { return good_ && rest_.empty(); }

 private:
  std::string_view take(std::uint64_t count) {
    good_ = good_ && count <= rest_.size();
    const std::string_view taken = rest_.substr(0, good_ ? count : 0);
    rest_.remove_prefix(good_ ? taken.size() : rest_.size());
    return taken;
  }
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace ds
