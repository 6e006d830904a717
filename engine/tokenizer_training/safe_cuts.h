// safe_cuts(): where a long text can be cut so that the patterns of pieces find the same pieces.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace ds {

/// Returns the parts of a text, in order: each ends at the first safe place behind `size` bytes, or
/// at the end of the text. A place is safe behind the newline in "a\nb", where a and b are ASCII
/// letters: no pattern of docs/tokenizers.md has a piece with a newline and a letter in it, or
/// looks behind, so both sides have the pieces that the whole text has there.
std::vector<std::string_view> safe_cuts(std::string_view text, std::size_t size);

}  // namespace ds
