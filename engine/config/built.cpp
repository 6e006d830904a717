// The list of values that have a key but are refused because they are not implemented. Whoever
// implements one removes its line here.
#include <algorithm>
#include <array>

#include "engine/config/keys.h"

namespace ds {
namespace {

struct NotBuilt {
  std::string_view key;
  std::string_view words;  // "*": every value but the default
};

constexpr std::array<NotBuilt, 0> kNotBuilt{};  // empty at present

std::string_view not_built_words(const Key& key) {
  const auto* found = std::ranges::find(kNotBuilt, key.name, &NotBuilt::key);
  return found == std::end(kNotBuilt) ? std::string_view() : found->words;
}

bool contains(std::string_view words, std::string_view word) {
  const std::vector<std::string_view> all = split_words(words);
  return std::ranges::find(all, word) != all.end();
}

std::string bare(const ConfigValue& value) {
  const auto* text = std::get_if<std::string>(&value.held);
  return text == nullptr ? to_toml(value) : *text;
}

void append(std::string& words, std::string_view word) {
  if (!words.empty()) words += '|';
  words += word;
}

}  // namespace

bool is_built(const Key& key, const ConfigValue& value) {
  const std::string_view words = not_built_words(key);
  if (words == "*") return value == key.get(TrainConfig{});
  return !contains(words, bare(value));
}

bool only_default_built(const Key& key) { return not_built_words(key) == "*"; }

std::string built_choices(const Key& key) {
  if (only_default_built(key)) return bare(key.get(TrainConfig{}));
  std::string built;
  const std::string_view missing = not_built_words(key);
  if (key.kind == KeyKind::integer) {
    for (auto n = static_cast<std::int64_t>(key.min); n <= static_cast<std::int64_t>(key.max);
         ++n) {
      if (!contains(missing, std::to_string(n))) append(built, std::to_string(n));
    }
  } else {
    for (const std::string_view word : split_words(key.choices)) {
      if (!contains(missing, word)) append(built, word);
    }
  }
  return built;
}

}  // namespace ds
