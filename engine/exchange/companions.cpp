// companions_of(): files by the names that transformers 4 and 5 write.
#include "engine/exchange/companions.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {"generation_config.json",
                                  "tokenizer.json",
                                  "tokenizer_config.json",
                                  "tokenizer.model",
                                  "spiece.model",
                                  "sentencepiece.bpe.model",
                                  "vocab.json",
                                  "merges.txt",
                                  "vocab.txt",
                                  "added_tokens.json",
                                  "chat_template.jinja",
                                  "special_tokens_map.json"};
constexpr const char* kTokens[] = {"bos_token_id", "eos_token_id", "pad_token_id",
                                   "decoder_start_token_id"};

std::string text_of(const std::string& path) {
  constexpr std::uintmax_t kMost = 256 << 20;
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (!error && bytes > kMost)
    throw Error(ErrorKind::config, fmt::format("{}: is longer than 256 MiB", path),
                "no tokenizer is as long; remove the file");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (error || text.size() != bytes)
    throw Error(ErrorKind::config, fmt::format("{}: cannot be read", path),
                "the export copies it; see its permissions");
  return text;
}

void read_config(const std::string& folder, Companions& all) {
  const auto config =
      nlohmann::json::parse(text_of(folder + "/config.json"), nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return;
  for (const char* const key : kTokens)
    if (const auto found = config.find(key); found != config.end())
      all.tokens.emplace_back(key, found->dump());
  if (const auto vocab = config.find("vocab_size");
      vocab != config.end() && vocab->is_number_integer())
    all.vocab = vocab->get<std::int64_t>();
}

nlohmann::json json_of(const Companions& all, std::string_view file) {
  for (const auto& [name, text] : all.files)
    if (name == file) return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return {};
}

/// Adds the numbers of the tokens that tokenizer_config.json names, as tokenizer.json has them.
void read_named_tokens(Companions& all) {
  const auto named = json_of(all, "tokenizer_config.json");
  const auto known = json_of(all, "tokenizer.json");
  if (!named.is_object() || !known.is_object()) return;
  const auto added = known.value("added_tokens", nlohmann::json::array());
  for (const char* const name : {"bos_token", "eos_token", "pad_token"}) {
    auto token = named.value(name, nlohmann::json());
    if (token.is_object()) token = token.value("content", nlohmann::json());
    for (const auto& each : added)
      if (each.is_object() && token.is_string() && each.value("content", nlohmann::json()) == token)
        all.tokens.emplace_back(std::string(name) + "_id",
                                each.value("id", nlohmann::json()).dump());
  }
}

}  // namespace

Companions companions_of(const std::string& folder) {
  Companions all;
  std::error_code ignored;
  if (folder.empty()) return all;
  for (const char* const name : kFiles)
    if (const std::string path = folder + "/" + name; fs::exists(path, ignored))
      all.files.emplace_back(name, text_of(path));
  if (fs::exists(folder + "/config.json", ignored))
    read_config(folder, all);
  else
    read_named_tokens(all);
  return all;
}

std::string with_tokens(const std::string& config, const Companions& companions) {
  if (companions.tokens.empty()) return config;
  auto json = nlohmann::ordered_json::parse(config);
  for (const auto& [key, value] : companions.tokens)
    json[key] = nlohmann::ordered_json::parse(value);
  return json.dump(2) + "\n";
}

}  // namespace ds
