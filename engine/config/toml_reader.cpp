// Reads TOML with toml++ and converts its columns, which count characters, into byte offsets.
#include "engine/config/toml_reader.h"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/text_error.h"
#include "engine/config/keys.h"

namespace ds {
namespace {

ConfigValue to_value(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return {flag->get()};
  if (const auto* integer = node.as_integer()) return {integer->get()};
  if (const auto* number = node.as_floating_point()) return {number->get()};
  if (const auto* text = node.as_string()) return {text->get()};
  if (const auto* array = node.as_array()) {
    ConfigValue::List list;
    for (const toml::node& element : *array) list.push_back(to_value(element));
    return {std::move(list)};
  }
  const auto* table = node.as_table();
  if (table == nullptr || table->empty()) return {ConfigValue::Other{}};
  ConfigValue::Table values;  // toml++ keeps tables sorted by name
  for (const auto& [key, each] : *table) values.push_back({std::string(key.str()), to_value(each)});
  return {std::move(values)};
}

/// Returns line `number` (from 1) of `text`, without its line end.
std::string_view line_of(std::string_view text, std::size_t number) {
  for (std::size_t line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
}

/// Returns the byte offset of `column`, which toml++ counts from 1 in UTF-8 characters.
std::size_t byte_offset(std::string_view line, std::size_t column) {
  std::size_t characters = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const bool starts = (static_cast<unsigned char>(line[at]) & 0xC0U) != 0x80U;
    if (starts && ++characters >= column) return at;
  }
  return line.size();
}

class Flattener {
 public:
  Flattener(std::string_view text, const std::string& source, const std::string& base_dir)
      : text_(text), source_(source), base_dir_(base_dir) {}

  void add(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const std::string name = prefix + std::string(key.str());
      const toml::table* inner = node.as_table();
      // A table under the name of a key is the key's value, any other one is a section.
      if (inner != nullptr && !inner->empty() && find_key(name) == nullptr) {
        add(*inner, name + ".");
      } else {  // an empty section is an entry too, because its name may be mistyped
        entries_.push_back({name, to_value(node), place(key.source(), node.source()), base_dir_});
      }
    }
  }

  std::vector<Entry> in_file_order() && {
    std::ranges::stable_sort(entries_, {}, [](const Entry& entry) {
      return std::pair(entry.place.line, entry.place.key_offset);
    });
    return std::move(entries_);
  }

 private:
  [[nodiscard]] Place place(const toml::source_region& key,
                            const toml::source_region& value) const {
    const std::string_view line = line_of(text_, key.begin.line);
    const std::size_t key_offset = byte_offset(line, key.begin.column);
    const bool same_line = value.begin.line == key.begin.line;
    return {source_, static_cast<int>(key.begin.line), std::string(line), key_offset,
            same_line ? byte_offset(line, value.begin.column) : key_offset};
  }

  std::string_view text_;
  const std::string& source_;
  const std::string& base_dir_;
  std::vector<Entry> entries_;
};

/// Returns toml++'s message without the prefix that names its grammar rule.
std::string_view plain(std::string_view description) {
  constexpr std::string_view kPrefix = "Error while parsing ";
  if (description.starts_with(kPrefix)) description.remove_prefix(kPrefix.size());
  return description;
}

/// Returns the value of an override, or nothing if it is not a single TOML value.
std::optional<ConfigValue> as_toml(const std::string& text) {
  if (text.find_first_of("\r\n") != std::string::npos) return std::nullopt;
  try {
    const toml::table table = toml::parse("x = " + text);
    const toml::node* node = table.get("x");
    return node == nullptr ? std::nullopt : std::optional(to_value(*node));
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

bool is_key(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::vector<Entry> read_toml(std::string_view text, const std::string& source,
                             const std::string& base_dir) {
  try {
    const toml::table table = toml::parse(text, source);
    Flattener flattener(text, source, base_dir);
    flattener.add(table, "");
    return std::move(flattener).in_file_order();
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    const std::string_view line = line_of(text, at.line);
    throw text_error({source, static_cast<int>(at.line), line}, byte_offset(line, at.column),
                     fmt::format("invalid TOML: {}", plain(error.description())),
                     "write key = value under a [section], with strings in double quotes");
  }
}

Entry read_override(std::string_view assignment, int number, const std::string& base_dir) {
  const std::size_t equals = assignment.find('=');
  const std::string_view key = trimmed(assignment.substr(0, equals));
  if (equals == std::string_view::npos || !is_key(key)) {
    throw Error(ErrorKind::usage,
                fmt::format("override {}: {} is not key=value", number,
                            describe({std::string(assignment)})),
                "write SECTION.KEY=VALUE, for example train.steps=20");
  }
  const std::string text(trimmed(assignment.substr(equals + 1)));
  std::optional<ConfigValue> value = as_toml(text);
  const bool meant_as_toml =
      !text.empty() && std::string_view("\"'[{").find(text[0]) != std::string_view::npos;
  if (!value && meant_as_toml) {
    throw Error(ErrorKind::usage,
                fmt::format("override {}: {} is not a TOML value", number, describe({text})),
                "close the quote or bracket, and quote the whole override for the shell");
  }
  if (!value) value = as_toml(to_toml(ConfigValue{text}));  // also finds bytes that are not UTF-8
  if (!value) {
    throw Error(ErrorKind::usage,
                fmt::format("override {}: the value of {} is not UTF-8 text", number, key),
                "type it in a UTF-8 terminal, or write it into the file");
  }
  return {std::string(key),
          *std::move(value),
          {fmt::format("override {}", number), 0, std::string(assignment),
           static_cast<std::size_t>(key.data() - assignment.data()), equals + 1},
          base_dir};
}

}  // namespace ds
