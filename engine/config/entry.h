// One `key = value` of a TOML file or of an override, with the place where it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/error.h"

namespace ds {

/// A TOML value. `Other` is what no key takes: dates, times, tables inside arrays.
struct ConfigValue {
  struct Other {
    friend bool operator==(const Other&, const Other&) = default;
  };
  using List = std::vector<ConfigValue>;
  std::variant<Other, bool, std::int64_t, double, std::string, List> held;

  friend bool operator==(const ConfigValue&, const ConfigValue&) = default;
};

/// For people: `an integer`, `the string "x"`.
std::string describe(const ConfigValue& value);
/// As TOML, which reads back to the same value.
std::string to_toml(const ConfigValue& value);

/// Where an entry stands: a line of a file, or an override (`line` = 0).
struct Place {
  std::string source;  // "train.toml" or "override 2"
  int line = 0;
  std::string text;                              // The whole line.
  std::size_t key_offset = 0, value_offset = 0;  // Bytes in `text`.
};

struct Entry {
  std::string key;  // "batch.micro"
  ConfigValue value;
  Place place;
  std::string base_dir;  // Relative paths in the value start here.
};

enum class Point : std::uint8_t { key, value };

/// An Error{config}: "SOURCE:LINE:COLUMN: what", the line and a caret under the key or the value.
Error entry_error(const Place& place, Point point, std::string_view what, std::string hint = {});

}  // namespace ds
