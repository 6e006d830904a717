// encode_with_borders(): the tokens of a text, and where the tokens of its pieces begin.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/tokenizer/added_tokens.h"
#include "engine/tokenizer/token_borders.h"

namespace ds {

/// A word as the model reads it, or an added token, with the number of its first token.
struct EncodedWord {
  std::string text{};
  std::size_t first = 0;
};

/// Appends the tokens of a text between added tokens and returns its words. `is_first`: nothing is
/// before it.
using EncodeText = std::function<std::vector<EncodedWord>(std::string_view text, bool is_first,
                                                          std::vector<std::int32_t>& tokens)>;

/// Returns the text of a token's number.
using TokenText = std::function<std::string_view(std::int32_t)>;

/// Encodes the segments of a text. `places`: where its pieces begin, in bytes and in order. A place
/// within a segment is found by the words of the segment's text before it, because normalizers
/// change the number of bytes. Where words of the whole segment differ from those, such as a
/// character that the normalizer composes, the place is where they begin to differ. Tokens without
/// a known text, such as those of unknown characters, count as one from the first to the last of
/// their word.
EncodedPieces encode_with_borders(std::span<const TextSegment> segments,
                                  std::span<const std::size_t> places, const EncodeText& encode,
                                  const TokenText& text_of);

}  // namespace ds
