// Parses the step numbers and the op path of debug.non_finite.
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

}  // namespace ds
