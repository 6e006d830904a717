// Checks the type and range of one value and formats the error message.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "engine/base/nearest_word.h"
#include "engine/base/units.h"
#include "engine/config/keys.h"
#include "engine/config/step_range.h"

namespace ds {
namespace {

constexpr double kUnlimited = 9e18;
constexpr std::size_t kLongestName = 64;  // of a set

std::string limits(const Key& key) {
  if (key.max >= kUnlimited) return fmt::format("at least {}", key.min);
  if (key.kind == KeyKind::integer) {
    return fmt::format("{} to {}", static_cast<std::int64_t>(key.min),
                       static_cast<std::int64_t>(key.max));
  }
  return fmt::format("{} to {}", key.min, key.max);
}

std::string joined(std::string_view words) {
  std::string text;
  for (const std::string_view word : split_words(words)) {
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", word);
  }
  return text;
}

[[noreturn]] void wrong(const Key& key, const Entry& entry, std::string hint = {}) {
  throw entry_error(
      entry.place, Point::value,
      fmt::format("{} must be {}, not {}", key.name, describe_range(key), describe(entry.value)),
      std::move(hint));
}

std::optional<double> as_number(const ConfigValue& value) {
  if (const auto* number = std::get_if<double>(&value.held)) return *number;
  if (const auto* integer = std::get_if<std::int64_t>(&value.held)) {
    return static_cast<double>(*integer);
  }
  return std::nullopt;
}

/// Returns whether `number` is in range; NaN is not.
bool fits(const Key& key, double number) { return number >= key.min && number <= key.max; }

bool is_choice(const Key& key, const ConfigValue& value) {
  const auto* word = std::get_if<std::string>(&value.held);
  const std::vector<std::string_view> words = split_words(key.choices);
  return word != nullptr && std::ranges::find(words, *word) != words.end();
}

ConfigValue check_choice(const Key& key, const Entry& entry) {
  if (is_choice(key, entry.value)) return entry.value;
  const auto* word = std::get_if<std::string>(&entry.value.held);
  if (word == nullptr) wrong(key, entry);
  const std::string built = built_choices(key);
  const std::vector<std::string_view> words = split_words(built);
  const std::vector<std::string_view> later = split_words(key.later);
  if (key.later == "*" || std::ranges::find(later, *word) != later.end()) {
    throw entry_error(entry.place, Point::value,
                      fmt::format("{} = \"{}\" is not implemented yet", key.name, *word),
                      fmt::format("supported: {}", joined(built)));
  }
  const std::string near = nearest_word(*word, words);
  wrong(key, entry, near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
}

std::string absolute_path(const std::string& path, const std::string& base_dir) {
  namespace fs = std::filesystem;
  if (path.empty()) return path;
  const char* home = std::getenv("HOME");
  const bool at_home = home != nullptr && (path == "~" || path.starts_with("~/"));
  const fs::path whole =
      at_home ? fs::path(home + path.substr(1)) : fs::absolute(fs::path(base_dir) / path);
  std::string normal = whole.lexically_normal();
  if (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  return normal;
}

ConfigValue check_globs(const Key& key, const Entry& entry) {
  ConfigValue::List list;
  if (std::holds_alternative<std::string>(entry.value.held)) list.push_back(entry.value);
  if (const auto* given = std::get_if<ConfigValue::List>(&entry.value.held)) list = *given;
  const bool none = entry.value == ConfigValue{ConfigValue::List{}};
  if (none ? key.kind != KeyKind::folders : list.empty()) wrong(key, entry);
  for (ConfigValue& element : list) {
    auto* pattern = std::get_if<std::string>(&element.held);
    if (pattern == nullptr || pattern->empty()) wrong(key, entry);
    *pattern = absolute_path(*pattern, entry.base_dir);
  }
  return {std::move(list)};
}

/// Checks a table of named sets of files.
ConfigValue check_sets(const Key& key, const Entry& entry) {
  ConfigValue::Table sets = std::get<ConfigValue::Table>(entry.value.held);
  for (auto& [name, files] : sets) {
    const auto fits_name = [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
    };
    if (name.empty() || name.size() > kLongestName || !std::ranges::all_of(name, fits_name))
      throw entry_error(
          entry.place, Point::key,
          fmt::format("{}: {} cannot be the name of a set", key.name, to_toml({name})),
          fmt::format("names have at most {} characters: letters a to z and A to Z, "
                      "digits, \"_\", \"-\" and \".\"",
                      kLongestName));
    if (const auto* inner = std::get_if<ConfigValue::Table>(&files.held))
      throw entry_error(
          entry.place, Point::key,
          fmt::format("{}.{} must be file patterns, not {}", key.name, name, describe(files)),
          fmt::format("a name with a point is quoted: \"{}.{}\"", name, inner->front().name));
    const std::string full = fmt::format("{}.{}", key.name, name);
    Key own = key;
    own.name = full;
    own.kind = KeyKind::globs;
    files = check_globs(own, {full, files, entry.place, entry.base_dir});
  }
  return {std::move(sets)};
}

ConfigValue check_names(const Key& key, const Entry& entry) {
  ConfigValue::List list;
  if (const auto* given = std::get_if<ConfigValue::List>(&entry.value.held)) {
    list = *given;
  } else {
    list.push_back(entry.value);
  }
  for (const ConfigValue& element : list) {
    const auto* name = std::get_if<std::string>(&element.held);
    if (name == nullptr || name->empty()) wrong(key, entry);
  }
  return {std::move(list)};
}

ConfigValue check_numbers(const Key& key, const Entry& entry) {
  const auto* given = std::get_if<ConfigValue::List>(&entry.value.held);
  const bool is_pair = key.kind == KeyKind::betas;
  if (given == nullptr || (is_pair && given->size() != 2)) wrong(key, entry);
  ConfigValue::List list;
  for (const ConfigValue& element : *given) {
    const std::optional<double> number = as_number(element);
    if (!number || !fits(key, *number)) wrong(key, entry);
    list.emplace_back().held = *number;  // a temporary makes GCC 12 warn
  }
  return {std::move(list)};
}

ConfigValue check_number(const Key& key, const Entry& entry) {
  const std::optional<double> number = as_number(entry.value);
  if (!number || !fits(key, *number)) wrong(key, entry);
  return {*number};
}

/// Returns the integer value; a double that is a whole number, such as 5e8, counts as one.
std::optional<std::int64_t> as_whole(const ConfigValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.held)) return *integer;
  const auto* number = std::get_if<double>(&value.held);
  if (number == nullptr || std::abs(*number) > kUnlimited || *number != std::floor(*number)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

/// Parses "8G", "1.5 GiB", "512M" with prefixes that are powers of 1024.
std::optional<std::int64_t> as_bytes(const ConfigValue& value) {
  const auto* text = std::get_if<std::string>(&value.held);
  if (text == nullptr) return as_whole(value);
  const bool has_unit = !text->empty() && (text->back() < '0' || text->back() > '9');
  return has_unit ? parse_bytes(*text) : std::nullopt;
}

ConfigValue check_whole(const Key& key, const Entry& entry) {
  if (is_choice(key, entry.value)) return entry.value;
  const std::optional<std::int64_t> number =
      key.kind == KeyKind::bytes ? as_bytes(entry.value) : as_whole(entry.value);
  if (!number || !fits(key, static_cast<double>(*number))) wrong(key, entry);
  return {*number};
}

ConfigValue check_place(const Key& key, const Entry& entry) {
  if (std::holds_alternative<bool>(entry.value.held)) return entry.value;
  const auto* folder = std::get_if<std::string>(&entry.value.held);
  if (folder == nullptr || folder->empty()) wrong(key, entry);
  return {absolute_path(*folder, entry.base_dir)};
}

ConfigValue check_steps(const Key& key, const Entry& entry) {
  const auto* number = std::get_if<std::int64_t>(&entry.value.held);
  const auto* text = std::get_if<std::string>(&entry.value.held);
  if (number == nullptr && text == nullptr) wrong(key, entry);
  const std::string steps = text != nullptr ? *text : std::to_string(*number);
  if (!steps.empty() && !parse_step_range(steps)) wrong(key, entry);
  return {steps};
}

ConfigValue check_kind(const Key& key, const Entry& entry) {
  const auto* integer = std::get_if<std::int64_t>(&entry.value.held);
  const auto* text = std::get_if<std::string>(&entry.value.held);
  switch (key.kind) {
    case KeyKind::integer:
      if (integer == nullptr || !fits(key, static_cast<double>(*integer))) wrong(key, entry);
      return entry.value;
    case KeyKind::count:
    case KeyKind::bytes:
      return check_whole(key, entry);
    case KeyKind::number:
      return check_number(key, entry);
    case KeyKind::choice:
      return check_choice(key, entry);
    case KeyKind::flag:
      if (!std::holds_alternative<bool>(entry.value.held)) wrong(key, entry);
      return entry.value;
    case KeyKind::text:
      if (text == nullptr) wrong(key, entry, "put the text in quotes");
      return entry.value;
    case KeyKind::path:
      if (text == nullptr) wrong(key, entry, "put the path in quotes");
      if (is_choice(key, entry.value)) return entry.value;
      return {absolute_path(*text, entry.base_dir)};
    case KeyKind::globs:
    case KeyKind::folders:
      return check_globs(key, entry);
    case KeyKind::place:
      return check_place(key, entry);
    case KeyKind::steps:
      return check_steps(key, entry);
    case KeyKind::validation:
      if (std::holds_alternative<ConfigValue::Table>(entry.value.held))
        return check_sets(key, entry);
      return as_number(entry.value) ? check_number(key, entry) : check_globs(key, entry);
    case KeyKind::names:
      return check_names(key, entry);
    case KeyKind::betas:
    case KeyKind::numbers:
      return check_numbers(key, entry);
  }
  return entry.value;
}

std::string or_words(const Key& key) {
  const std::string words = joined(key.choices);
  return words.empty() ? words : " or " + words;
}

}  // namespace

std::string describe_range(const Key& key) {
  switch (key.kind) {
    case KeyKind::integer:
      return fmt::format("an integer, {}", limits(key));
    case KeyKind::number:
      return fmt::format("a number, {}", limits(key));
    case KeyKind::choice:
      return joined(built_choices(key));
    case KeyKind::count:
      return fmt::format("an integer, {}{}", limits(key), or_words(key));
    case KeyKind::bytes:
      return fmt::format("bytes, {}, as an integer or as \"8G\"{}", limits(key), or_words(key));
    case KeyKind::flag:
      return "true or false";
    case KeyKind::folders:
      return "a folder or a list of folders";
    case KeyKind::place:
      return "true, false or a folder";
    case KeyKind::steps:
      return "a step or a range such as \"20-22\", counted from 1";
    case KeyKind::text:
      return "a string";
    case KeyKind::path:
      return "a path" + or_words(key);
    case KeyKind::globs:
      return "file patterns";
    case KeyKind::validation:
      return fmt::format("file patterns, a table of named ones, or a fraction, {}", limits(key));
    case KeyKind::names:
      return key.choices.empty() ? "a list of patterns"
                                 : fmt::format("a list of {} and patterns", joined(key.choices));
    case KeyKind::betas:
      return fmt::format("two numbers, {}", limits(key));
    case KeyKind::numbers:
      return fmt::format("a list of numbers, {}", limits(key));
  }
  return {};
}

ConfigValue check_value(const Key& key, const Entry& entry) {
  ConfigValue value = check_kind(key, entry);
  if (is_built(key, value)) return value;
  const std::string built = built_choices(key);
  const bool words = key.kind == KeyKind::choice;
  throw entry_error(entry.place, Point::value,
                    fmt::format("{} = {} is not implemented yet", key.name, to_toml(value)),
                    fmt::format("supported: {}", words ? joined(built) : built));
}

}  // namespace ds
