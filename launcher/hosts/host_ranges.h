// Host expressions with brackets -> names: `rack[0-1]n[01-16,20]-eth0`. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ds::launcher {

/// Names that one expression, and one hostfile, may give at most.
inline constexpr std::size_t kMaxHosts = 65536;

/// What is wrong with an expression, and at which byte of it.
struct RangeProblem {
  std::size_t offset = 0;
  std::string message;
  std::string hint;
};

/// Expands every bracket of `expression`; without one the expression itself is the only name.
/// A bracket holds numbers and ranges `lo-hi` separated by commas. Leading zeros of `lo` are kept
/// as padding:
/// `[08-10]` gives 08, 09, 10. Text may stand before, between and after brackets.
/// Order:   as written; the last bracket varies fastest. Names written twice come out twice.
/// Errors:  a value: empty or unclosed brackets, letters, hi < lo, more than kMaxHosts names.
std::variant<std::vector<std::string>, RangeProblem> expand_host_ranges(
    std::string_view expression);

}  // namespace ds::launcher
