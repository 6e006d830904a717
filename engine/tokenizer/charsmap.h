// CharsMap: the replacements of characters that SentencePiece compiles into a tokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

class CharsMap {
 public:
  /// `base64`: the length in bytes of a double array (u32), the array (Aoe, darts-clone), and texts
  /// that end with NUL. Errors: Error{config} naming `place`: not that.
  CharsMap(const std::string& base64, const std::string& place);

  /// Returns a valid UTF-8 text with its replacements: of graphemes shorter than 6 bytes as a
  /// whole, else of their characters, as the tokenizers library does.
  [[nodiscard]] std::string normalized(std::string_view text) const;

 private:
  /// Returns the replacement of the shortest key at the beginning of `text`; null if there is none.
  [[nodiscard]] const char* find(std::string_view text) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace ds
