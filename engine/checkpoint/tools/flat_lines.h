// Texts of a manifest as names and values: the resolved config (TOML), the arithmetic list.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ds {

using NamedLine = std::pair<std::string, std::string>;  // "model.layers", "2"

/// Lines `name = value` below headers `[section]`, in their order; other lines are left out. Pure.
std::vector<NamedLine> flat_lines(std::string_view text);

/// The value of `name`; empty without it.
std::string value_of(const std::vector<NamedLine>& lines, std::string_view name);

/// One line that is not the same in two texts; empty: not there.
struct LineDifference {
  std::string name{}, a{}, b{};
  friend bool operator==(const LineDifference&, const LineDifference&) = default;
};
std::vector<LineDifference> different_lines(const std::vector<NamedLine>& a,
                                            const std::vector<NamedLine>& b);

}  // namespace ds
