// Formatter for the help of an option table, and checks of values; each error states the accepted
// form. split_words.cpp parses the command line.
#include "launcher/cli/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "engine/base/split.h"
#include "engine/base/whole_number.h"

namespace ds::launcher {

constexpr std::size_t kHelpColumn = 27;

std::string option_help(const OptionShape& shape) {
  std::string text = "  " + option_term(shape);
  text += text.size() + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ')
                                        : std::string(kHelpColumn - text.size(), ' ');
  for (const char letter : shape.help) {
    text += letter;
    if (letter == '\n') text.append(kHelpColumn, ' ');
  }
  return text + '\n';
}

std::string option_term(const OptionShape& shape, std::string_view mark) {
  std::vector<std::string_view> names = split_names(shape.names);
  std::stable_partition(names.begin(), names.end(),
                        [](std::string_view name) { return !name.starts_with("--"); });
  std::string text;
  for (const std::string_view name : names)
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", mark, name, mark);
  if (shape.argument.empty()) return text;
  return fmt::format("{}{}{}{}", text, shape.implied.empty() ? " " : "[=", shape.argument,
                     shape.implied.empty() ? "" : "]");
}

std::vector<std::string_view> split_names(std::string_view names) { return split(names, ','); }

std::vector<std::string> OptionTable::names() const {
  std::vector<std::string> all;
  for (const Entry& entry : entries_)
    for (const std::string_view name : split_names(entry.shape.names)) all.emplace_back(name);
  return all;
}

std::string OptionTable::help() const {
  std::string text;
  std::string_view section;
  for (const Entry& entry : entries_) {
    if (entry.section != section) {
      section = entry.section;
      text += fmt::format("\n{}:\n", section);
    }
    text += option_help(entry.shape);
  }
  return text;
}

void usage_error(const std::string& message, std::string hint) {
  throw Error(ErrorKind::usage, message, std::move(hint));
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"ms", 1}, {"", 1000}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  double number = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const bool is_number = error == std::errc() && is_digit(text.front()) && is_digit(stop[-1]);
  if (!is_number) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  for (const auto& [unit, milliseconds] : kUnits) {
    const double span = number * static_cast<double>(milliseconds);
    if (text == unit && span <= static_cast<double>(kLongest.count()))
      return std::chrono::milliseconds(span > 0 ? std::max(std::llround(span), 1LL) : 0);
  }
  return std::nullopt;
}

int number_value(const GivenOption& given, int least, int most) {
  const std::optional<int> value = whole_number<int>(given.value);
  if (!value || *value < least || *value > most)
    usage_error(fmt::format("{} must be an integer from {} to {}, not '{}'", given.name, least,
                            most, given.value));
  return *value;
}

std::chrono::milliseconds duration_value(const GivenOption& given) {
  const std::optional<std::chrono::milliseconds> span = parse_duration(given.value);
  if (!span)
    usage_error(fmt::format("{} must be a duration, not '{}'", given.name, given.value),
                "for example 10 (seconds), 1.5s, 500ms, 2m");
  return *span;
}

std::chrono::milliseconds positive_duration_value(const GivenOption& given) {
  const std::chrono::milliseconds span = duration_value(given);
  if (span.count() == 0) usage_error(fmt::format("{} must be longer than 0", given.name));
  return span;
}

std::chrono::milliseconds agent_duration_value(const GivenOption& given,
                                               std::chrono::milliseconds least) {
  constexpr std::chrono::hours kLongest(24 * 24);
  const std::chrono::milliseconds span = duration_value(given);
  if (span > kLongest)
    usage_error(fmt::format("{} must be at most 24 days, not '{}'", given.name, given.value));
  if (span < least)
    usage_error(
        fmt::format("{} must be at least {} ms, not '{}'", given.name, least.count(), given.value));
  return span;
}

std::string text_value(const GivenOption& given) {
  if (given.value.empty()) usage_error(fmt::format("{} must not be empty", given.name));
  return given.value;
}

int signal_value(const GivenOption& given) {
  const std::optional<int> signo = signal_number(given.value);
  if (!signo)
    usage_error(fmt::format("{} must be a signal, not '{}'", given.name, given.value),
                "for example USR1, SIGUSR1 or 10");
  return *signo;
}

std::size_t choice_value(const GivenOption& given, std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), given.value);
  if (found == names.end())
    usage_error(fmt::format("{} cannot be '{}'", given.name, given.value),
                fmt::format("choose one of: {}", fmt::join(names, ", ")));
  return static_cast<std::size_t>(found - names.begin());
}

std::size_t choice_value(const GivenOption& given, std::string_view names) {
  return choice_value(given, split(names, '|'));
}

}  // namespace ds::launcher
