// Parses the resolved config (TOML) and the arithmetic list of a manifest into names and values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ds {

using NamedLine = std::pair<std::string, std::string>;  // "model.layers", "2"

/// Returns the lines `name = value`, with names prefixed by `[section]`, in order; other lines are
/// ignored. Pure.
std::vector<NamedLine> flat_lines(std::string_view text);

/// Returns the value of `name`, or an empty text.
std::string value_of(const std::vector<NamedLine>& lines, std::string_view name);

/// A line that differs between two texts; an empty value means absent.
struct LineDifference {
  std::string name{}, a{}, b{};
  friend bool operator==(const LineDifference&, const LineDifference&) = default;
};
std::vector<LineDifference> different_lines(const std::vector<NamedLine>& a,
                                            const std::vector<NamedLine>& b);

}  // namespace ds
