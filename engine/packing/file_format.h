// The data.format that a file's name says. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace ds {

/// Returns the format that the ending of a name says, also with .gz or .zst behind it; nothing for an
/// ending that says none.
std::optional<std::string_view> format_of_ending(std::string_view path);

}  // namespace ds
