// TokenBorder: where the tokens of a text lie beside a place in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

/// The tokens beside a place of a text, which may lie within a token.
struct TokenBorder {
  std::size_t ended = 0;  // tokens that end before the place or at it
  std::size_t begun = 0;  // tokens that begin before it
};

/// A word as the model reads it, or an added token, with the number of its first token.
struct EncodedWord {
  std::string text{};
  std::size_t first = 0;
};

/// Returns the text of a token's number.
using TokenText = std::function<std::string_view(std::int32_t)>;

/// Returns the border at the place where `prefix`, the words of the text before it, ends. `words`
/// are those of the whole text and `tokens` all its tokens. Where words of the whole text differ
/// from those of its beginning, such as a character that the normalizer composes, the place is
/// where they begin to differ. Tokens without a known text count as one from the first to the last
/// of their word.
TokenBorder border_behind(std::span<const EncodedWord> prefix, std::span<const EncodedWord> words,
                          std::span<const std::int32_t> tokens, const TokenText& text_of);

}  // namespace ds
