// The converters of vocab.json with merges.txt, and of vocab.txt.
#include "engine/tokenizer/converters.h"

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "engine/tokenizer/converter_parts.h"
#include "engine/tokenizer/vocab_files.h"

namespace ds {
namespace {

using Json = nlohmann::json;

Json byte_level(bool adds_space, bool uses_words) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", adds_space}, {"use_regex", uses_words}};
}

/// Returns the model and the decoder of byte-level byte-pair encoding.
Json byte_level_bpe(const ConverterInput& input) {
  Json model = read_bpe_files(input.files);
  model["type"] = "BPE";
  return {{"model", std::move(model)}, {"decoder", {{"type", "ByteLevel"}}}};
}

Json token_and_number(const SpecialTokens& tokens, const char* name, const ConverterInput& input) {
  const std::string text = tokens.text(name);
  if (text.empty()) {
    throw Error(
        ErrorKind::config,
        fmt::format("{}: \"{}\" is null", input.files.path_of("tokenizer_config.json"), name),
        "the tokenizer puts this token around every text; name one");
  }
  return {text, tokens.number(text)};
}

}  // namespace

bool setting_of(const ConverterInput& input, const char* key, bool otherwise) {
  const auto found = input.config.find(key);
  if (found == input.config.end() || found->is_null()) return otherwise;
  if (!found->is_boolean()) {
    throw Error(ErrorKind::config,
                fmt::format("{}: \"{}\" is not true or false",
                            input.files.path_of("tokenizer_config.json"), key),
                "see docs/tokenizers.md for what is read");
  }
  return found->get<bool>();
}

Json template_around(const SpecialTokens& tokens, const std::vector<std::string>& before,
                     const std::vector<std::string>& behind) {
  Json single = Json::array(), known = Json::object();
  const auto add = [&](const std::string& text) {
    single.push_back({{"SpecialToken", {{"id", text}}}});
    known[text] = {{"ids", {tokens.number(text)}}};
  };
  for (const std::string& text : before) add(text);
  single.push_back({{"Sequence", {{"id", "A"}}}});
  for (const std::string& text : behind) add(text);
  return {{"type", "TemplateProcessing"}, {"single", single}, {"special_tokens", known}};
}

Json template_of_settings(const ConverterInput& input, const SpecialTokens& tokens) {
  const auto side = [&](const char* setting, const char* name) {
    std::vector<std::string> texts;
    if (setting_of(input, setting, false) && !tokens.text(name).empty())
      texts.push_back(tokens.text(name));
    return texts;
  };
  return template_around(tokens, side("add_bos_token", "bos_token"),
                         side("add_eos_token", "eos_token"));
}

Json convert_gpt2(const ConverterInput& input) {
  Json json = byte_level_bpe(input);
  json["pre_tokenizer"] = byte_level(setting_of(input, "add_prefix_space", false), true);
  SpecialTokens tokens(input.files, input.config,
                       {{"bos_token", "<|endoftext|>"},
                        {"eos_token", "<|endoftext|>"},
                        {"unk_token", "<|endoftext|>"}});
  json["added_tokens"] = tokens.numbered(json["model"]["vocab"]);
  json["post_processor"] = template_of_settings(input, tokens);
  return json;
}

Json convert_roberta(const ConverterInput& input) {
  Json json = byte_level_bpe(input);
  json["pre_tokenizer"] = byte_level(setting_of(input, "add_prefix_space", false), true);
  SpecialTokens tokens(input.files, input.config,
                       {{"bos_token", "<s>"},
                        {"eos_token", "</s>"},
                        {"unk_token", "<unk>"},
                        {"sep_token", "</s>"},
                        {"pad_token", "<pad>"},
                        {"cls_token", "<s>"},
                        {"mask_token", "<mask>"}});
  json["added_tokens"] = tokens.numbered(json["model"]["vocab"]);
  json["post_processor"] = {{"type", "RobertaProcessing"},
                            {"sep", token_and_number(tokens, "sep_token", input)},
                            {"cls", token_and_number(tokens, "cls_token", input)}};
  return json;
}

Json convert_qwen2(const ConverterInput& input) {
  constexpr const char* kWords =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
      R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
  Json json = byte_level_bpe(input);
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", kWords}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  json["normalizer"] = {{"type", "NFC"}};
  json["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {split, byte_level(setting_of(input, "add_prefix_space", false), /*uses_words=*/false)}}};
  SpecialTokens tokens(input.files, input.config,
                       {{"eos_token", "<|endoftext|>"},
                        {"unk_token", "<|endoftext|>"},
                        {"pad_token", "<|endoftext|>"}});
  json["added_tokens"] = tokens.numbered(json["model"]["vocab"], /*are_plain=*/true);
  json["post_processor"] = template_of_settings(input, tokens);
  return json;
}

Json convert_bert(const ConverterInput& input) {
  const std::string name = input.name.empty() ? "vocab.txt" : input.name;
  Json vocab = read_token_lines(input.files, name);
  SpecialTokens tokens(input.files, input.config,
                       {{"unk_token", "[UNK]"},
                        {"sep_token", "[SEP]"},
                        {"pad_token", "[PAD]"},
                        {"cls_token", "[CLS]"},
                        {"mask_token", "[MASK]"}});
  const std::string unknown = tokens.text("unk_token");
  if (!vocab.contains(unknown)) {
    throw Error(ErrorKind::config,
                fmt::format("{}: has no line \"{}\", the token of unknown words",
                            input.files.path_of(name), printable_text(unknown, 100)),
                "copy the file again, or name the token as unk_token in tokenizer_config.json");
  }
  const bool lowers = setting_of(input, "do_lower_case", true);
  Json json;
  json["normalizer"] = {
      {"type", "BertNormalizer"},
      {"lowercase", lowers},
      {"strip_accents", setting_of(input, "strip_accents", lowers)},
      {"handle_chinese_chars", setting_of(input, "tokenize_chinese_chars", true)}};
  json["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  json["decoder"] = {{"type", "WordPiece"}};
  json["added_tokens"] = tokens.numbered(vocab);
  const Json cls = token_and_number(tokens, "cls_token", input);
  const Json sep = token_and_number(tokens, "sep_token", input);
  json["post_processor"] = template_around(tokens, {cls[0]}, {sep[0]});
  json["model"] = {{"type", "WordPiece"}, {"unk_token", unknown}, {"vocab", std::move(vocab)}};
  return json;
}

}  // namespace ds
