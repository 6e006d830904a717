// Reads members of JSON objects with checked types and ranges. Included by .cpp files only.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/text_error.h"

namespace ds {

using Json = nlohmann::json;

inline constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kMostRanks = std::numeric_limits<int>::max();

[[noreturn]] inline void refuse(const std::string& what, std::string hint = {}) {
  throw Error(ErrorKind::config, what, std::move(hint));
}

inline std::string shown(std::string_view name) { return printable_text(name, 80); }

/// A JSON object and its place, for messages.
struct Node {
  const Json& json;
  const std::string& place;

  const Json& at(const char* name) const {
    if (!json.is_object()) refuse(place + " is not an object");
    const auto found = json.find(name);
    if (found == json.end()) refuse(fmt::format("{} has no \"{}\"", place, name));
    return *found;
  }
  std::int64_t integer(const char* name, std::int64_t least, std::int64_t most) const {
    const Json& value = at(name);
    const bool fits = value.is_number_unsigned()
                          ? value.get<std::uint64_t>() <= std::uint64_t{kMost}
                          : value.is_number_integer();
    if (fits) {
      const auto number = value.get<std::int64_t>();
      if (number >= least && number <= most) return number;
    }
    refuse(fmt::format("{}: \"{}\" is not an integer from {} to {}", place, name, least, most));
  }
  double real(const char* name) const {
    const Json& value = at(name);
    if (!value.is_number()) refuse(fmt::format("{}: \"{}\" is not a number", place, name));
    return value.get<double>();
  }
  const std::string& string(const char* name) const {
    const Json& value = at(name);
    if (!value.is_string()) refuse(fmt::format("{}: \"{}\" is not a string", place, name));
    return value.get_ref<const std::string&>();
  }
  const Json::array_t& list(const char* name) const {
    const Json& value = at(name);
    if (!value.is_array()) refuse(fmt::format("{}: \"{}\" is not a list", place, name));
    return value.get_ref<const Json::array_t&>();
  }
  std::vector<std::int64_t> numbers(const char* name) const {
    std::vector<std::int64_t> values;
    for (const Json& value : list(name)) {
      // Values out of range become -1, which is never a valid offset or extent.
      const bool fits =
          value.is_number_unsigned() && value.get<std::uint64_t>() <= std::uint64_t{kMost};
      values.push_back(fits ? value.get<std::int64_t>() : -1);
    }
    return values;
  }
};

}  // namespace ds
