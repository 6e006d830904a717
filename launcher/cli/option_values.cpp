// Checks of option values; each error states the accepted form.
#include "launcher/cli/option_values.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "launcher/cli/duration.h"

namespace ds::launcher {

void usage_error(const std::string& message, std::string hint) {
  throw Error(ErrorKind::usage, message, std::move(hint));
}

int number_value(const GivenOption& given, int least, int most) {
  int value = 0;
  const char* end = given.value.data() + given.value.size();
  const auto [stop, error] = std::from_chars(given.value.data(), end, value);
  if (given.value.empty() || stop != end || error != std::errc() || value < least || value > most)
    usage_error(fmt::format("{} must be an integer from {} to {}, not '{}'", given.name, least,
                            most, given.value));
  return value;
}

std::chrono::milliseconds duration_value(const GivenOption& given) {
  const std::optional<std::chrono::milliseconds> span = parse_duration(given.value);
  if (!span)
    usage_error(fmt::format("{} must be a duration, not '{}'", given.name, given.value),
                "for example 10 (seconds), 10s, 500ms, 2m");
  return *span;
}

std::chrono::milliseconds positive_duration_value(const GivenOption& given) {
  const std::chrono::milliseconds span = duration_value(given);
  if (span.count() == 0) usage_error(fmt::format("{} must be longer than 0", given.name));
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

void fail_choice(const GivenOption& given, const std::string& known) {
  usage_error(fmt::format("{} cannot be '{}'", given.name, given.value),
              fmt::format("choose one of: {}", known));
}

}  // namespace ds::launcher
