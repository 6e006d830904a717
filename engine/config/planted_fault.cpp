// Parses the texts of the section [debug].
#include "engine/config/planted_fault.h"

#include <charconv>

namespace ds {

std::optional<PlantedFault> parse_planted_fault(std::string_view text) {
  PlantedFault fault;
  if (text.empty()) return fault;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    fault.op = text.substr(colon + 1);
    if (fault.op.empty()) return std::nullopt;
    text = text.substr(0, colon);
  }
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view number = text.substr(0, comma);
    std::int64_t step = 0;
    const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), step);
    if (status != std::errc() || end != number.data() + number.size() || step < 1) {
      return std::nullopt;
    }
    fault.steps.push_back(step);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return fault;
}

std::optional<PlantedDelay> parse_planted_delay(std::string_view text) {
  PlantedDelay delay;
  if (text.empty()) return delay;
  const char* const end = text.data() + text.size();
  int milliseconds = 0;
  const auto [colon, status] = std::from_chars(text.data(), end, delay.rank);
  if (status != std::errc() || colon == end || *colon != ':' || delay.rank < 0) return std::nullopt;
  const auto [last, number] = std::from_chars(colon + 1, end, milliseconds);
  if (number != std::errc() || last != end || milliseconds < 1) return std::nullopt;
  delay.span = std::chrono::milliseconds(milliseconds);
  return delay;
}

}  // namespace ds
