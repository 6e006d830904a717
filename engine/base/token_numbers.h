// Token numbers as text, with blanks or commas between.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/split.h"
#include "engine/base/whole_number.h"

namespace ds {

/// Returns the numbers of "464 995" or "464,995"; nothing for a text with anything else in it.
inline std::optional<std::vector<std::int32_t>> token_numbers(std::string_view text) {
  std::vector<std::int32_t> tokens;
  for (const std::string_view part : split(text, ' ')) {
    for (const std::string_view word : split(part, ',')) {
      if (word.empty()) continue;
      const std::optional<std::int32_t> number = whole_number<std::int32_t>(word);
      if (!number) return std::nullopt;
      tokens.push_back(*number);
    }
  }
  return tokens;
}

inline std::string text_of_tokens(std::span<const std::int32_t> tokens) {
  return fmt::format("{}", fmt::join(tokens, " "));
}

}  // namespace ds
