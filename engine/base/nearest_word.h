// "Did you mean ...?": the known word closest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ds {

/// The word of `known` that needs the fewest edits (insert, delete, replace, swap of neighbours) to
/// become `typed`; empty when none is near enough to be a plausible typing mistake (more than a
/// third of it wrong). Order:   the first of equally near words. Case does not count as an edit.
std::string nearest_word(std::string_view typed, std::span<const std::string_view> known);

}  // namespace ds
