// Entry: one `key = value` of a TOML file or of an override, with its place in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/error.h"

namespace ds {

struct NamedValue;

/// A TOML value. `Other` stands for types that no key accepts: dates, times, empty sections.
struct ConfigValue {
  struct Other {
    friend bool operator==(const Other&, const Other&) = default;
  };
  using List = std::vector<ConfigValue>;
  using Table = std::vector<NamedValue>;  // sorted by name
  std::variant<Other, bool, std::int64_t, double, std::string, List, Table> held;

  friend bool operator==(const ConfigValue& a, const ConfigValue& b);
};

struct NamedValue {
  std::string name;
  ConfigValue value;
  friend bool operator==(const NamedValue&, const NamedValue&) = default;
};
inline bool operator==(const ConfigValue& a, const ConfigValue& b) { return a.held == b.held; }

/// Describes the value for messages: `the integer 3`, `the string "x"`.
std::string describe(const ConfigValue& value);
/// Formats the value as TOML that reads back to the same value.
std::string to_toml(const ConfigValue& value);

/// The place of an entry: a line of a file, or an override (`line` = 0).
struct Place {
  std::string source;  // "train.toml" or "override 2"
  int line = 0;
  std::string text;                              // the whole line
  std::size_t key_offset = 0, value_offset = 0;  // bytes in `text`
};

struct Entry {
  std::string key;  // "batch.micro"
  ConfigValue value;
  Place place;
  std::string base_dir;  // base of relative paths in the value
};

enum class Point : std::uint8_t { key, value };

/// Returns an Error{config}: "SOURCE:LINE:COLUMN: what", the line, and a caret under key or value.
Error entry_error(const Place& place, Point point, std::string_view what, std::string hint = {});

}  // namespace ds
