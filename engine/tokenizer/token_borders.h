// TokenBorder: where the tokens of a text lie beside a place in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ds {

/// The tokens beside a place of a text, which may lie within a token.
struct TokenBorder {
  std::size_t ended = 0;  // tokens that end before the place or at it
  std::size_t begun = 0;  // tokens that begin before it
};

/// The tokens of a text in pieces, and the border at the beginning of each piece. `begins` has one
/// more element, for the end of the text.
struct EncodedPieces {
  std::vector<std::int32_t> tokens{};
  std::vector<TokenBorder> begins{};
};

}  // namespace ds
