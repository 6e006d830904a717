// Reads a number that is the whole text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace ds {

/// Returns the decimal integer that `text` is. Returns nothing for any other text, also with blanks
/// or a plus sign, and for a value that does not fit into `Number`.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && stop == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace ds
