// Encodings of ssh's binary forms: integers and strings with a length, base64. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ds::launcher {

/// Reads bytes in order. Beyond their end it returns zero or empty values, and ok() is false.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (const char byte : take(bytes)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }
  std::string_view string() { return take(static_cast<std::size_t>(number(4))); }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool done() const { return ok_ && rest_.empty(); }

 private:
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
    }
    const std::string_view taken = rest_.substr(0, ok_ ? count : 0);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
  bool ok_ = true;
};

/// Returns a number in 4 bytes.
inline std::string wire_number(std::size_t number) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
  return out;
}
/// Returns a string with its length before it.
inline std::string wire_string(std::string_view text) {
  return wire_number(text.size()).append(text);
}

std::string base64_encode(std::string_view bytes);
/// Returns the bytes; nothing if the text is not base64.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace ds::launcher
