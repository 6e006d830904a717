// Hints for options of other launchers that users type here. Pure.
#pragma once

#include <span>
#include <string_view>

namespace ds::launcher {

/// Returns the hint for `typed` (with its dashes). Returns an empty text if the option is unknown
/// or its equivalent is not among the `known` options.
std::string_view meaning_of_foreign(std::string_view typed,
                                    std::span<const std::string_view> known);

}  // namespace ds::launcher
