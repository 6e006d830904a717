// ByteLevel: GPT-2's characters for bytes, so that every token is text. Source: bytes_to_unicode()
// in its encoder.py.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/tokenizer/unicode.h"

namespace ds {

class ByteLevel {
 public:
  ByteLevel() {
    bytes_.fill(-1);
    char32_t above = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool is_shown = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
      const char32_t c = is_shown ? byte : above++;
      unicode::append(texts_[byte], c);
      bytes_[c] = static_cast<std::int16_t>(byte);
    }
  }

  /// Returns the character of a byte.
  [[nodiscard]] const std::string& text_of(unsigned char byte) const { return texts_[byte]; }
  [[nodiscard]] std::string encoded(std::string_view bytes) const {
    std::string text;
    text.reserve(bytes.size() + bytes.size() / 4 + 1);
    for (const char byte : bytes) {
      if (byte >= '!' && byte <= '~') {
        text += byte;
      } else {
        text += texts_[static_cast<unsigned char>(byte)];
      }
    }
    return text;
  }
  /// Returns the bytes of a token; nothing if it has other characters.
  [[nodiscard]] std::optional<std::string> decoded(std::string_view token) const {
    std::string bytes;
    for (std::size_t at = 0; at < token.size();) {
      const char32_t c = unicode::next(token, at);
      if (c >= bytes_.size() || bytes_[c] < 0) return std::nullopt;
      bytes.push_back(static_cast<char>(bytes_[c]));
    }
    return bytes;
  }

  /// GPT-2's expression for words.
  static constexpr const char* kWords =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

 private:
  std::array<std::string, 256> texts_{};
  std::array<std::int16_t, 324> bytes_{};  // by character; 68 of them lie above 255
};

}  // namespace ds
