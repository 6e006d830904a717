// Converts JSON texts, for the tests of this folder.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "engine/deepspeed/convert.h"

namespace ds::test {

inline DsConversion convert(std::string_view json, const DsContext& context = {}) {
  return convert_deepspeed({json, "ds.json"}, context);
}

/// Returns the setting as "FROM: VALUE", with "default: " in front where the JSON does not say it.
inline std::string setting(const DsConversion& conversion, std::string_view key) {
  const DsSetting* found = conversion.find(key);
  if (found == nullptr) return "none";
  const std::string value = std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::vector<double>>) {
          std::string list;
          for (const double number : held) list += fmt::format("{} ", number);
          return list;
        } else if constexpr (std::is_same_v<Held, std::vector<std::string>>) {
          return held.empty() ? "" : held.front();
        } else {
          return fmt::format("{}", held);
        }
      },
      found->value);
  return (found->is_default ? "default: " : found->from + ": ") + value;
}

/// Returns why a key was passed over, or "none".
inline std::string passed(const DsConversion& conversion, std::string_view from) {
  for (const DsPassed& each : conversion.passed)
    if (each.from == from) return each.why;
  return "none";
}

inline bool contains(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("\"" << part << "\" is not in: " << text);
  return found;
}

/// Returns all findings as users see them, or "none".
inline std::string findings(const DsConversion& conversion) {
  if (conversion.findings.empty()) return "none";
  return joined_findings({"", "ds.json"}, conversion.findings).for_people();
}

}  // namespace ds::test
