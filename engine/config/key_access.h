// Accessors of the key table: read and write members of TrainConfig as ConfigValues.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/keys.h"

namespace ds::key_access {

template <class T>
void take(T& field, const ConfigValue& value) {
  field = std::get<T>(value.held);
}
inline void take(std::vector<std::string>& field, const ConfigValue& value) {
  field.clear();
  for (const ConfigValue& element : std::get<ConfigValue::List>(value.held)) {
    field.push_back(std::get<std::string>(element.held));
  }
}
inline void take(std::vector<double>& field, const ConfigValue& value) {
  field.clear();
  for (const ConfigValue& element : std::get<ConfigValue::List>(value.held))
    field.push_back(std::get<double>(element.held));
}
inline void take(std::array<double, 2>& field, const ConfigValue& value) {
  const auto& list = std::get<ConfigValue::List>(value.held);
  field = {std::get<double>(list[0].held), std::get<double>(list[1].held)};
}

inline void take(LogPlace& field, const ConfigValue& value) {
  const auto* folder = std::get_if<std::string>(&value.held);
  field = folder == nullptr ? LogPlace{.on = std::get<bool>(value.held)}
                            : LogPlace{.on = true, .dir = *folder};
}

template <class T>
ConfigValue give(const T& field) {
  return {field};
}
inline ConfigValue give(const std::vector<std::string>& field) {
  ConfigValue::List list;
  for (const std::string& text : field) list.push_back({text});
  return {std::move(list)};
}
inline ConfigValue give(const std::vector<double>& field) {
  ConfigValue::List list;
  for (const double number : field) list.push_back({number});
  return {std::move(list)};
}
inline ConfigValue give(const std::array<double, 2>& field) {
  return {ConfigValue::List{{field[0]}, {field[1]}}};
}
inline ConfigValue give(const LogPlace& field) {
  return field.dir.empty() ? ConfigValue{field.on} : ConfigValue{field.dir};
}

/// The numbers of an enum are the positions of its words in `words`.
template <class E>
void take_word(E& field, std::string_view words, const ConfigValue& value) {
  const std::vector<std::string_view> all = split_words(words);
  const auto found = std::ranges::find(all, std::get<std::string>(value.held));
  field = static_cast<E>(found - all.begin());
}
template <class E>
ConfigValue give_word(E field, std::string_view words) {
  return {std::string(split_words(words)[static_cast<std::size_t>(field)])};
}

/// Stores a number, or `automatic` for the key's word (usually "auto").
inline void take_or_auto(std::int64_t& field, std::int64_t automatic, const ConfigValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value.held);
  field = number == nullptr ? automatic : *number;
}
inline ConfigValue give_or_word(std::int64_t field, std::int64_t special, const char* word) {
  return field == special ? ConfigValue{std::string(word)} : ConfigValue{field};
}

}  // namespace ds::key_access

// The two accessors in a row of the key table; macros, because both need the member's path.
#define DS_FIELD(path)                                                                         \
  [](TrainConfig& config, const ConfigValue& value) { key_access::take(config.path, value); }, \
      [](const TrainConfig& config) { return key_access::give(config.path); }
#define DS_WORD(path, words)                          \
  [](TrainConfig& config, const ConfigValue& value) { \
    key_access::take_word(config.path, words, value); \
  },                                                  \
      [](const TrainConfig& config) { return key_access::give_word(config.path, words); }
#define DS_OR_WORD(path, special, word)                              \
  [](TrainConfig& config, const ConfigValue& value) {                \
    key_access::take_or_auto(config.path, special, value);           \
  },                                                                 \
      [](const TrainConfig& config) {                                \
        return key_access::give_or_word(config.path, special, word); \
      }
#define DS_OR_AUTO(path, automatic) DS_OR_WORD(path, automatic, "auto")
