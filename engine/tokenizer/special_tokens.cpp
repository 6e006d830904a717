#include "engine/tokenizer/special_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "engine/base/error.h"
#include "engine/base/text_error.h"

namespace ds {
namespace {

using Json = nlohmann::json;

constexpr std::array kNames{"bos_token", "eos_token", "unk_token", "sep_token",
                            "pad_token", "cls_token", "mask_token"};

[[noreturn]] void refuse_settings(const std::string& place, const std::string& why) {
  throw Error(ErrorKind::config, fmt::format("{}: {}", place, printable_text(why, 300)),
              "see docs/tokenizers.md for what is read");
}

bool is_token(const Json& value) {
  return value.is_string() ||
         (value.is_object() && value.contains("content") && value["content"].is_string());
}

std::string content_of(const Json& token) {
  return token.is_string() ? token.get<std::string>() : token["content"].get<std::string>();
}

/// Returns a special token without further properties.
Json plain(const std::string& content) { return {{"content", content}, {"special", true}}; }

bool is_list(const Json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && !found->is_null() && !found->empty();
}

std::int64_t number_of(const std::string& digits, const std::string& place) {
  std::int64_t number = -1;
  const char* const end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, number).ptr != end || number < 0 || number > INT32_MAX) {
    refuse_settings(
        place,
        fmt::format("\"added_tokens_decoder\" has the key \"{}\", which is not a number", digits));
  }
  return number;
}

}  // namespace

SpecialTokens::SpecialTokens(FolderFiles& files, Json config, const Defaults& defaults)
    : place_(files.path_of("tokenizer_config.json")) {
  // transformers 4 names the list in another way.
  if (config.contains("additional_special_tokens") && !is_list(config, "extra_special_tokens")) {
    config["extra_special_tokens"] = config["additional_special_tokens"];
    config.erase("additional_special_tokens");
  }
  if (config.contains("added_tokens_decoder")) {
    const Json& list = config["added_tokens_decoder"];
    if (!list.is_object()) refuse_settings(place_, "\"added_tokens_decoder\" is not an object");
    for (const auto& [number, token] : list.items()) {
      if (!is_token(token) || token.is_string())
        refuse_settings(place_, fmt::format("the added token {} has no \"content\"", number));
      listed_[number_of(number, place_)] = token;
    }
  } else {  // the other files count only then
    merge_special_tokens_map(files, config);
    read_added_tokens(files, config);
  }
  read_named(config, defaults);
}

void SpecialTokens::merge_special_tokens_map(FolderFiles& files, Json& config) {
  const Json map = files.object("special_tokens_map.json");
  for (const auto& [key, value] : map.items()) {
    Json merged = value;
    if (value.is_object() && key != "extra_special_tokens") merged["special"] = true;
    if (key == "extra_special_tokens" && value.is_array()) {
      merged = config.contains(key) && config[key].is_array() ? config[key] : Json::array();
      for (Json token : value) {
        if (token.is_object()) token["special"] = true;
        if (std::ranges::find(merged, token) == merged.end()) merged.push_back(token);
      }
    }
    config[key] = merged;
  }
}

void SpecialTokens::read_added_tokens(FolderFiles& files, const Json& config) {
  std::set<std::string> special;
  for (const char* const name : kNames)
    if (config.contains(name) && is_token(config[name])) special.insert(content_of(config[name]));
  if (config.contains("extra_special_tokens")) {
    for (const Json& token : config["extra_special_tokens"])
      if (is_token(token)) special.insert(content_of(token));
  }
  const Json added = files.object("added_tokens.json");
  for (const auto& [text, number] : added.items()) {
    if (!number.is_number_integer() || number < 0 || number > INT32_MAX)
      refuse_settings(files.path_of("added_tokens.json"),
                      fmt::format("\"{}\" has no number", text));
    const bool is_special = special.contains(text);
    listed_[number.get<std::int64_t>()] = {
        {"content", text}, {"special", is_special}, {"normalized", !is_special}};
  }
}

void SpecialTokens::read_named(const Json& config, const Defaults& defaults) {
  const auto add = [&](const std::string& name, const Json& value) {
    if (value.is_null()) return;
    if (!is_token(value)) refuse_settings(place_, fmt::format("\"{}\" is not a token", name));
    named_.emplace_back(name, value);
  };
  for (const std::string name : kNames) {
    const auto by_class =
        std::ranges::find_if(defaults, [&](const auto& pair) { return name == pair.first; });
    if (config.contains(name)) {
      add(name, config[name]);
    } else if (by_class != defaults.end()) {
      add(name, by_class->second);
    }
  }
  for (const auto& [key, value] : config.items()) {  // tokens of one model, such as "image_token"
    if (key.ends_with("_token") && is_token(value) &&
        std::ranges::find(kNames, key) == kNames.end())
      add(key, value);
  }
  const auto extra = config.contains("extra_special_tokens")
                         ? config.find("extra_special_tokens")
                         : config.find("additional_special_tokens");
  if (extra == config.end()) return;
  has_extra_ = extra.key() == "extra_special_tokens" && !extra->is_object();
  for (const auto& [key, value] : extra->items()) {
    if (!is_token(value))
      refuse_settings(place_, fmt::format("\"{}\" has something else than tokens", extra.key()));
    if (extra->is_object()) {
      add(key, value);
    } else {
      extra_.push_back(value);
    }
  }
}

Json SpecialTokens::finished(const Json& token) const {
  if (token.is_string()) return plain(token);
  Json out = token;
  if (is_named(content_of(token))) out["special"] = true;
  return out;
}

bool SpecialTokens::is_named(const std::string& content) const {
  return std::ranges::any_of(
      named_, [&](const auto& named) { return content_of(named.second) == content; });
}

bool SpecialTokens::is_special(const std::string& content) const {
  return is_named(content) || std::ranges::any_of(extra_, [&](const Json& token) {
           return content_of(token) == content;
         });
}

void SpecialTokens::set_extra(std::vector<Json> tokens) {
  if (!has_extra_) extra_ = std::move(tokens);
}

Json SpecialTokens::numbered(const Json& vocab, bool are_plain) {
  std::vector<Json> tokens;
  std::set<std::string> listed;
  for (const auto& [number, token] : listed_) {
    tokens.push_back(token);
    listed.insert(content_of(token));
  }
  const auto add = [&](const Json& token) {
    if (!listed.contains(content_of(token)) && std::ranges::find(tokens, token) == tokens.end())
      tokens.push_back(token);
  };
  for (const auto& [name, token] : named_) add(token);
  for (const Json& token : extra_) add(token);

  // Of two tokens with one text, the later counts, under the number of the first.
  std::map<std::int64_t, Json> by_number;
  auto next = static_cast<std::int64_t>(vocab.size());
  for (const Json& token : tokens) {
    const std::string content = content_of(token);
    if (content.empty()) continue;
    const auto [known, is_new] = numbers_.emplace(content, -1);
    if (is_new) {
      const auto found = vocab.find(content);
      known->second = found != vocab.end() ? found->get<std::int64_t>() : next;
      next = std::max(next, known->second + 1);
    }
    by_number[known->second] = finished(token);
  }
  if (are_plain) {
    for (const auto& [number, token] : by_number)
      if (is_special(content_of(token))) by_number[number] = plain(content_of(token));
  }
  Json list = Json::array();
  for (auto& [number, token] : by_number) {
    token["id"] = number;
    list.push_back(std::move(token));
  }
  return list;
}

std::string SpecialTokens::text(const char* name) const {
  const auto found =
      std::ranges::find_if(named_, [&](const auto& pair) { return pair.first == name; });
  return found == named_.end() ? std::string() : content_of(found->second);
}

std::int64_t SpecialTokens::number(const std::string& text) const {
  const auto found = numbers_.find(text);
  return found == numbers_.end() ? -1 : found->second;
}

}  // namespace ds
