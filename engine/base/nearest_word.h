// Finds the known word closest to a mistyped one, for "did you mean ...?" hints.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ds {

/// Returns the word of `known` that needs the fewest edits (insert, delete, replace, swap of
/// neighbors) to become `typed`; empty if more than a third of `typed` would change, which is no
/// plausible typing mistake. Order:   the first of equally near words. Case does not count.
std::string nearest_word(std::string_view typed, std::span<const std::string_view> known);

}  // namespace ds
