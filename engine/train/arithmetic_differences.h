// Compares arithmetic lists (arithmetic_list()) of two runs. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

/// Returns "optimizer.lr: 0.001, was 0.002" for every line in which the lists differ. A key that is
/// newer than the saved list has the value that all jobs had before, or "absent".
std::vector<std::string> arithmetic_differences(const std::string& saved, const std::string& now);

/// Returns the value of `name` in an arithmetic list, as TOML; nothing if it has none.
std::optional<std::string> arithmetic_value(const std::string& list, std::string_view name);

}  // namespace ds
