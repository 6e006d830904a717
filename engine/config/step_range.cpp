// parse_step_range(): one or two numbers.
#include "engine/config/step_range.h"

#include "engine/base/whole_number.h"

namespace ds {

std::optional<StepRange> parse_step_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = whole_number<std::int64_t>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : whole_number<std::int64_t>(text.substr(dash + 1));
  if (!first || !last || *first < 1 || *last < *first) return std::nullopt;
  return StepRange{*first, *last};
}

}  // namespace ds
