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

struct Segment;  // added_tokens.h

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

/// The tokens of a text in pieces, and the border at the beginning of each piece. `begins` has one
/// more element, for the end of the text.
struct EncodedPieces {
  std::vector<std::int32_t> tokens{};
  std::vector<TokenBorder> begins{};
};

/// Appends the tokens of a text between added tokens and returns its words. `is_first`: nothing is
/// before it.
using EncodeText = std::function<std::vector<EncodedWord>(std::string_view text, bool is_first,
                                                          std::vector<std::int32_t>& tokens)>;

/// Returns the text of a token's number.
using TokenText = std::function<std::string_view(std::int32_t)>;

/// Returns the border at the place where `prefix` ends: the words of the text before it and one
/// letter, which keeps its white space from being stripped. `words` are those of the whole text and
/// `tokens` all its tokens. Where words of the whole text differ from those of its beginning, such
/// as a character that the normalizer composes, the place is where they begin to differ. Tokens
/// without a known text count as one from the first to the last of their word.
TokenBorder border_behind(std::span<const EncodedWord> prefix, std::span<const EncodedWord> words,
                          std::span<const std::int32_t> tokens, const TokenText& text_of);

/// Encodes the segments of a text. `places`: where its pieces begin, in bytes and in order.
EncodedPieces encode_with_borders(std::span<const Segment> segments,
                                  std::span<const std::size_t> places, const EncodeText& encode,
                                  const TokenText& text_of);

}  // namespace ds
