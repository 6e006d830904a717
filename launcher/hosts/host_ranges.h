// Expansion of host expressions with brackets: `rack[0-1]n[01-16,20]-eth0`. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ds::launcher {

/// Maximum number of names in one expression and in one hostfile.
inline constexpr std::size_t kMaxHosts = 65536;

/// Problem in an expression, with the byte at which it is.
struct RangeProblem {
  std::size_t offset = 0;
  std::string message;
  std::string hint;
};

/// Expands every bracket of `expression`. An expression without brackets is its only name.
/// A bracket contains numbers and ranges `lo-hi` or `lo-hi/step`, separated by commas. Leading
/// zeros of `lo` set the width: `[08-10]` gives 08, 09, 10. `[1-6/2]` gives 1, 3, 5. Text may stand
/// before, between and after brackets. Order: as written; the last bracket varies fastest. Repeated
/// names are kept. Errors:  a RangeProblem: empty or unclosed brackets, letters, hi < lo, step 0,
/// more than kMaxHosts names.
std::variant<std::vector<std::string>, RangeProblem> expand_host_ranges(
    std::string_view expression);

/// Returns each of `starts` followed by each of `ends`; `ends` varies fastest.
std::vector<std::string> combined(const std::vector<std::string>& starts,
                                  const std::vector<std::string>& ends);

}  // namespace ds::launcher
