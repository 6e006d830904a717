#include "engine/sample/folder_tokens.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/exchange/companions.h"

namespace ds {
namespace {

using Json = nlohmann::json;

/// Returns the file's JSON object; nothing if there is no such file, or anything else in it.
std::optional<Json> json_in(const Companions& companions, std::string_view file) {
  for (const auto& [name, text] : companions.files) {
    if (name != file) continue;
    Json json = Json::parse(text, nullptr, false);
    if (json.is_object()) return json;
  }
  return std::nullopt;
}

/// Returns a member; null if it is missing.
Json member_of(const std::optional<Json>& object, const std::string& key) {
  return object ? object->value(key, Json()) : Json();
}

std::optional<std::int32_t> number_of(const Json& value) {
  if (!value.is_number_integer() || value < 0 || value > INT32_MAX) return std::nullopt;
  return value.get<std::int32_t>();
}

/// Returns the numbers of an eos_token_id: a number, a list, or null.
std::vector<std::int32_t> numbers_of(const Json& value) {
  std::vector<std::int32_t> numbers;
  for (const Json& each : value.is_array() ? value : Json::array({value}))
    if (const auto number = number_of(each)) numbers.push_back(*number);
  return numbers;
}

std::vector<std::int32_t> ends_of(const Companions& companions, const std::string& arch) {
  constexpr const char* kKey = "eos_token_id";
  if (const auto json = json_in(companions, "generation_config.json"))
    return numbers_of(member_of(json, kKey));
  for (const auto& [name, value] : companions.tokens)
    if (name == kKey) return numbers_of(Json::parse(value, nullptr, false));
  if (arch == "gpt2") return {50256};
  if (arch == "t5") return {1};
  return arch == "llama" || arch == "mistral" ? std::vector<std::int32_t>{2}
                                              : std::vector<std::int32_t>();
}

std::int32_t start_of(const Companions& companions) {
  constexpr const char* kKey = "decoder_start_token_id";
  if (const Json given = member_of(json_in(companions, "generation_config.json"), kKey);
      !given.is_null())
    return number_of(given).value_or(0);
  for (const auto& [name, value] : companions.tokens)
    if (name == kKey) return number_of(Json::parse(value, nullptr, false)).value_or(0);
  return 0;  // T5's padding
}

std::optional<std::int32_t> line_of(const std::string& text, const std::string& token) {
  std::istringstream lines(text);
  std::string line;
  for (std::int32_t number = 0; std::getline(lines, line); ++number)
    if (line == token || line == token + '\r') return number;
  return std::nullopt;
}

std::optional<std::int32_t> mask_of(const Companions& companions, const std::string& arch) {
  std::string token = arch == "bert" ? "[MASK]" : "<mask>";
  Json named = member_of(json_in(companions, "tokenizer_config.json"), "mask_token");
  if (named.is_object()) named = named.value("content", Json());
  if (named.is_string()) token = named.get<std::string>();
  for (const Json& added : member_of(json_in(companions, "tokenizer.json"), "added_tokens"))
    if (added.is_object() && added.value("content", Json()) == token)
      return number_of(added.value("id", Json()));
  for (const auto& [name, text] : companions.files)
    if (name == "vocab.txt") return line_of(text, token);
  return number_of(member_of(json_in(companions, "vocab.json"), token));
}

}  // namespace

FolderTokens folder_tokens(const std::string& folder, const std::string& arch) {
  const Companions companions = companions_of(folder);
  return {.ends = ends_of(companions, arch),
          .start = start_of(companions),
          .mask = mask_of(companions, arch)};
}

}  // namespace ds
