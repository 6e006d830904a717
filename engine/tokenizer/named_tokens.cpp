// named_tokens(): from names in files to the tokenizer's numbers.
#include "engine/tokenizer/named_tokens.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ds {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

Json object_in(const fs::path& file) {
  std::ifstream in(file);
  if (!in) return Json::object();
  Json json = Json::parse(in, nullptr, false);
  return json.is_object() ? json : Json::object();
}

/// A token is a text, or an object with its text and how it is found.
std::optional<std::string> text_of(const Json& value) {
  const Json* text = &value;
  if (value.is_object() && value.contains("content")) text = &value["content"];
  if (!text->is_string()) return std::nullopt;
  return text->get<std::string>();
}

}  // namespace

NamedTokens named_tokens(const std::string& path, const Tokenizer& tokenizer) {
  std::error_code ignored;
  const fs::path folder =
      fs::is_directory(path, ignored) ? fs::path(path) : fs::path(path).parent_path();
  NamedTokens found;
  const auto number_of = [&](const Json& value) -> std::optional<std::int32_t> {
    const std::optional<std::string> text = text_of(value);
    const auto number = text ? tokenizer.number_of(*text) : std::nullopt;
    if (number) found.all.push_back(*number);
    return number;
  };
  constexpr std::array<const char*, 5> kOthers{"bos_token", "unk_token", "sep_token", "pad_token",
                                               "cls_token"};
  for (const char* const name : {"special_tokens_map.json", "tokenizer_config.json"}) {
    const Json config = object_in(folder / name);
    const auto named = [&](const char* key) { return number_of(config.value(key, Json())); };
    if (const auto end = named("eos_token")) found.end = end;
    if (const auto mask = named("mask_token")) found.mask = mask;
    for (const char* const key : kOthers) named(key);
    for (const char* const key : {"additional_special_tokens", "extra_special_tokens"})
      if (const Json list = config.value(key, Json()); list.is_array())
        for (const Json& each : list) number_of(each);
  }
  for (const char* const usual : {"[MASK]", "<mask>"})
    if (!found.mask) found.mask = number_of(usual);
  std::ranges::sort(found.all);
  const auto repeated = std::ranges::unique(found.all);
  found.all.erase(repeated.begin(), repeated.end());
  return found;
}

}  // namespace ds
