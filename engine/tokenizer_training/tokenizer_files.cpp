// The kinds, the patterns, and how they are written.
#include "engine/tokenizer_training/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/tokenizer/byte_level.h"

namespace ds {
namespace {

using Json = nlohmann::ordered_json;

/// T5 has 100 sentinels (arXiv:1910.10683, section 3.1.4, and its vocabulary).
constexpr int kSentinels = 100;

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                               R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

Json byte_level(bool adds_space, bool trims, bool uses_words) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", adds_space},
          {"trim_offsets", trims},
          {"use_regex", uses_words}};
}

Json pre_tokenizer(std::string_view pattern) {
  if (pattern == "gpt2") return byte_level(false, true, true);
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", piece_pattern(pattern)}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  return {{"type", "Sequence"},
          {"pretokenizers", Json::array({split, byte_level(false, true, false)})}};
}

std::int32_t number_in(const TrainedBpe& bpe, const std::string& token) {
  for (std::size_t i = 0; i < bpe.tokens.size(); ++i)
    if (bpe.tokens[i] == token) return static_cast<std::int32_t>(i);
  throw Error(ErrorKind::bug, "a special token without a number");
}

/// Returns the template of one text and of two: BERT's second text has type 1.
Json post_processor(const TokenizerParts& parts) {
  const TokenizerKind& kind = parts.kind;
  if (kind.before.empty() && kind.behind.empty()) return nullptr;
  Json known = Json::object();
  const auto add = [&](Json& list, const std::vector<std::string>& tokens, int type) {
    for (const std::string& token : tokens) {
      list.push_back({{"SpecialToken", {{"id", token}, {"type_id", type}}}});
      known[token] = {
          {"id", token}, {"ids", {number_in(parts.bpe, token)}}, {"tokens", Json::array({token})}};
    }
  };
  const auto text = [](const char* name, int type) -> Json {
    return {{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  Json single = Json::array();
  add(single, kind.before, 0);
  single.push_back(text("A", 0));
  add(single, kind.behind, 0);
  const int second = kind.name == "bert" ? 1 : 0;
  Json pair = single;
  if (kind.name == "roberta") add(pair, kind.behind, 0);  // <s> A </s></s> B </s>
  pair.push_back(text("B", second));
  add(pair, kind.behind, second);
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", known}};
}

std::vector<std::string> special_of(const TokenizerParts& parts) {
  std::vector<std::string> all = parts.kind.special;
  all.insert(all.end(), parts.more.begin(), parts.more.end());
  return all;
}

Json added_tokens(const TokenizerParts& parts) {
  Json added = Json::array();
  for (const std::string& token : special_of(parts))
    added.push_back({{"id", number_in(parts.bpe, token)},
                     {"content", token},
                     {"single_word", false},
                     // RoBERTa's <mask> takes the space before it, as the class does.
                     {"lstrip", token == "<mask>"},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  return added;
}

Json model_of(const TrainedBpe& bpe) {
  Json vocab = Json::object(), merges = Json::array();
  // Tokens differ from each other: emplace_back() does not search for an equal key, as others do.
  auto& entries = vocab.get_ref<Json::object_t&>();
  for (std::size_t i = 0; i < bpe.tokens.size(); ++i) entries.emplace_back(bpe.tokens[i], i);
  for (const auto& [left, right] : bpe.merges)
    merges.push_back(
        {bpe.tokens[static_cast<std::size_t>(left)], bpe.tokens[static_cast<std::size_t>(right)]});
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocab)},
          {"merges", std::move(merges)}};
}

}  // namespace

TokenizerKind tokenizer_kind(std::string_view name) {
  if (name == "bert")
    return {.name = "bert",
            .special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"},
            .named = {{"unk_token", "[UNK]"},
                      {"sep_token", "[SEP]"},
                      {"pad_token", "[PAD]"},
                      {"cls_token", "[CLS]"},
                      {"mask_token", "[MASK]"}},
            .before = {"[CLS]"},
            .behind = {"[SEP]"}};
  if (name == "roberta")
    return {.name = "roberta",
            .special = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"},
            .named = {{"bos_token", "<s>"},
                      {"eos_token", "</s>"},
                      {"unk_token", "<unk>"},
                      {"sep_token", "</s>"},
                      {"pad_token", "<pad>"},
                      {"cls_token", "<s>"},
                      {"mask_token", "<mask>"}},
            .before = {"<s>"},
            .behind = {"</s>"}};
  if (name == "t5") {
    TokenizerKind t5{
        .name = "t5",
        .special = {"<pad>", "</s>", "<unk>"},
        .named = {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}},
        .before = {},
        .behind = {"</s>"}};
    for (int i = 0; i < kSentinels; ++i) t5.special.push_back(fmt::format("<extra_id_{}>", i));
    return t5;
  }
  DS_ASSERT(name == "gpt2");
  const std::string end = "<|endoftext|>";
  return {.name = "gpt2",
          .special = {end},
          .named = {{"bos_token", end}, {"eos_token", end}, {"unk_token", end}},
          .before = {},
          .behind = {}};
}

std::string piece_pattern(std::string_view name) {
  if (name == "llama3") return kLlama3;
  if (name == "qwen2") return kQwen2;
  if (name == "o200k") return kO200k;
  DS_ASSERT(name == "gpt2");
  return ByteLevel::kWords;
}

std::string tokenizer_json(const TokenizerParts& parts) {
  const Json json = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added_tokens(parts)},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", pre_tokenizer(parts.pattern)},
                     {"post_processor", post_processor(parts)},
                     {"decoder", byte_level(true, true, true)},
                     {"model", model_of(parts.bpe)}};
  return json.dump(1) + "\n";
}

std::string tokenizer_config_json(const TokenizerParts& parts) {
  Json json = {{"tokenizer_class", "PreTrainedTokenizerFast"},
               {"clean_up_tokenization_spaces", false}};
  for (const auto& [name, token] : parts.kind.named) json[name] = token;
  Json others = Json::array();
  for (const std::string& token : special_of(parts)) {
    const auto is_it = [&](const auto& named) { return named.second == token; };
    if (std::ranges::none_of(parts.kind.named, is_it)) others.push_back(token);
  }
  if (!others.empty()) json["extra_special_tokens"] = others;
  return json.dump(2) + "\n";
}

}  // namespace ds
