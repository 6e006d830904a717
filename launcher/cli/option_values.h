// Values of options: parsers with their usage errors, and the functions that option tables name.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

/// Throws Error{usage}.
[[noreturn]] void usage_error(const std::string& message, std::string hint = "see dslaunch --help");

/// Parses an integer with an optional unit: ms, s (default), m or h. Returns nothing if the text is
/// anything else or the duration is longer than a year.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// Parses an integer from `least` to `most`.
/// Errors of all parsers below:  Error{usage} naming the option, the accepted form and the value.
int number_value(const GivenOption& given, int least, int most);
/// Parses 10 (seconds), 10s, 500ms or 2m.
std::chrono::milliseconds duration_value(const GivenOption& given);
std::chrono::milliseconds positive_duration_value(const GivenOption& given);
std::string text_value(const GivenOption& given);
/// Parses USR1, SIGUSR1 or 10.
int signal_value(const GivenOption& given);
/// Returns the index of the value in `names`.
std::size_t choice_value(const GivenOption& given, std::span<const std::string_view> names);
/// Returns the index of the value in a list such as "slot|node".
std::size_t choice_value(const GivenOption& given, std::string_view names);

/// Text as a template argument.
template <std::size_t N>
struct Literal {
  char text[N];
  constexpr Literal(const char (&literal)[N]) { std::copy_n(literal, N, text); }
};

// Functions of option tables. Each stores the value in a member: `set_flag<&LogOptions::policy,
// &LogPolicy::fold>` sets part.policy.fold.

template <auto... path>
void set_flag(auto& part, const GivenOption& /*given*/) {
  (part.*....*path) = true;
}

template <auto... path>
void set_text(auto& part, const GivenOption& given) {
  (part.*....*path) = text_value(given);
}

template <auto... path>
void add_text(auto& part, const GivenOption& given) {
  (part.*....*path).push_back(text_value(given));
}

template <auto... path>
void set_duration(auto& part, const GivenOption& given) {
  (part.*....*path) = duration_value(given);
}

template <auto... path>
void set_positive_duration(auto& part, const GivenOption& given) {
  (part.*....*path) = positive_duration_value(given);
}

template <int least, int most, auto... path>
void set_number(auto& part, const GivenOption& given) {
  auto& number = (part.*....*path);
  number = static_cast<std::remove_reference_t<decltype(number)>>(number_value(given, least, most));
}

/// The enumerators stand in the order of the names: `set_choice<"slot|node",
/// &HostOptions::map_by>`.
template <Literal names, auto... path>
void set_choice(auto& part, const GivenOption& given) {
  auto& value = (part.*....*path);
  value = static_cast<std::remove_reference_t<decltype(value)>>(choice_value(given, names.text));
}

}  // namespace ds::launcher
