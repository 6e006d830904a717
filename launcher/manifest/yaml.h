// YAML as a value, and its text. Pure; what is written reads back the same with any YAML parser.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ds::launcher {

/// Text, a whole number, a truth, a list, or a map whose keys keep their order.
struct Yaml {
  using List = std::vector<Yaml>;
  using Map = std::vector<std::pair<std::string, Yaml>>;
  std::variant<std::string, std::int64_t, bool, List, Map> value;

  Yaml(std::string text) : value(std::move(text)) {}                             // NOLINT
  Yaml(std::string_view text) : value(std::in_place_type<std::string>, text) {}  // NOLINT
  Yaml(const char* text) : value(std::in_place_type<std::string>, text) {}       // NOLINT
  Yaml(int number) : value(std::int64_t{number}) {}                              // NOLINT
  Yaml(bool truth) : value(truth) {}                                             // NOLINT
  Yaml(List list) : value(std::move(list)) {}                                    // NOLINT
  Yaml(Map map) : value(std::move(map)) {}                                       // NOLINT
};

Yaml yaml_map(std::initializer_list<Yaml::Map::value_type> entries);
Yaml yaml_list(std::initializer_list<Yaml> items);
Yaml yaml_words(const std::vector<std::string>& words);

/// One document, without `---`. Text must be UTF-8 (is_utf8). Strings that a parser of YAML 1.1 or
/// 1.2 could take for something else are quoted; text of several lines is a literal block where
/// that is exact.
std::string yaml_text(const Yaml& document);

/// Whether `text` is UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

}  // namespace ds::launcher
