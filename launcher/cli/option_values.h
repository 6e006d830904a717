// Parsers for the values of options, with their usage errors.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

/// Throws Error{usage}.
[[noreturn]] void usage_error(const std::string& message, std::string hint = "see dslaunch --help");

/// Parses an integer from `least` to `most`.
/// Errors of all parsers below:  Error{usage} naming the option, the accepted form and the value.
int number_value(const GivenOption& given, int least, int most);
/// Parses 10 (seconds), 10s, 500ms or 2m.
std::chrono::milliseconds duration_value(const GivenOption& given);
std::chrono::milliseconds positive_duration_value(const GivenOption& given);
std::string text_value(const GivenOption& given);
/// Parses USR1, SIGUSR1 or 10.
int signal_value(const GivenOption& given);
[[noreturn]] void fail_choice(const GivenOption& given, const std::string& known);

/// Parses one of `names`; the enumerators of `Value` stand in the same order.
template <class Value, std::size_t N>
Value choice_value(const GivenOption& given, const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), given.value);
  if (found != names.end()) return static_cast<Value>(found - names.begin());
  std::string known;
  for (const std::string_view name : names)
    known += (known.empty() ? "" : ", ") + std::string(name);
  fail_choice(given, known);
}

}  // namespace ds::launcher
