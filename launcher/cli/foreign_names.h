// Options as other launchers name them: a hint for people who type them here. Pure.
#pragma once

#include <span>
#include <string_view>

namespace ds::launcher {

/// What to write here instead of `typed` (with its dashes); empty: nothing is known, or what would
/// be meant is not among the `known` options.
std::string_view meaning_of_foreign(std::string_view typed,
                                    std::span<const std::string_view> known);

}  // namespace ds::launcher
