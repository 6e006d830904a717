// YAML values and their text. Pure. Any YAML parser reads the text back as the same value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ds::launcher {

/// Text, integer, boolean, list, or a map that keeps the order of its keys: Yaml{{"a", 1}}.
struct Yaml {
  using List = std::vector<Yaml>;
  using Map = std::vector<std::pair<std::string, Yaml>>;
  std::variant<std::string, std::int64_t, bool, List, Map> value;

  Yaml(std::initializer_list<Map::value_type> entries) : value(Map(entries)) {}  // NOLINT
  Yaml(std::string text) : value(std::move(text)) {}                             // NOLINT
  Yaml(std::string_view text) : value(std::in_place_type<std::string>, text) {}  // NOLINT
  Yaml(const char* text) : value(std::in_place_type<std::string>, text) {}       // NOLINT
  Yaml(int number) : value(std::int64_t{number}) {}                              // NOLINT
  Yaml(bool truth) : value(truth) {}                                             // NOLINT
  Yaml(List list) : value(std::move(list)) {}                                    // NOLINT
  Yaml(Map map) : value(std::move(map)) {}                                       // NOLINT
};

/// Returns one document, a map, without `---`. Text must be UTF-8 (is_utf8). Strings that a parser
/// of YAML 1.1 or 1.2 could read as another type are quoted. Text of several lines becomes a
/// literal block if that keeps it exactly.
std::string yaml_text(const Yaml& document);

/// Returns whether `text` is UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

}  // namespace ds::launcher
