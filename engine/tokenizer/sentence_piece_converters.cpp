// The converters of spiece.model and tokenizer.model.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/tokenizer/converter_parts.h"
#include "engine/tokenizer/sentence_piece.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

using Json = nlohmann::json;
using Kind = SentencePieceModel::Kind;
using Algorithm = SentencePieceModel::Algorithm;

constexpr const char* kSpace = "\u2581";

std::string name_of(const ConverterInput& input) {
  if (!input.name.empty()) return input.name;
  return input.files.has("spiece.model") ? "spiece.model" : "tokenizer.model";
}

SentencePieceModel model_in(const ConverterInput& input) {
  const std::string name = name_of(input);
  return read_sentence_piece(input.files.text(name), input.files.path_of(name));
}

void expect(Algorithm algorithm, const SentencePieceModel& model, const ConverterInput& input) {
  static const std::array<const char*, 5> kNames{"", "Unigram", "BPE", "word", "character"};
  if (model.algorithm == algorithm) return;
  throw Error(ErrorKind::config,
              fmt::format("{}: is a {} model, but this class of tokenizers needs a {} model",
                          input.files.path_of(name_of(input)),
                          kNames.at(static_cast<std::size_t>(model.algorithm)),
                          kNames.at(static_cast<std::size_t>(algorithm))),
              "save the tokenizer once more with a current transformers, which writes "
              "tokenizer.json");
}

/// Returns the pieces that are found in a text as they are: control ones are special.
std::vector<Json> added_pieces(const SentencePieceModel& model) {
  std::vector<Json> tokens;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (piece.kind == Kind::control || piece.kind == Kind::user_defined) {
      tokens.push_back({{"content", piece.text},
                        {"special", piece.kind == Kind::control},
                        {"normalized", false}});
    }
  }
  return tokens;
}

Json numbers_of(const SentencePieceModel& model) {
  Json vocab = Json::object();
  int number = 0;
  for (const SentencePieceModel::Piece& piece : model.pieces) vocab[piece.text] = number++;
  return vocab;
}

/// Returns all ways to make a piece of two others. The file has no merges: a piece of a lower
/// number is made first, and of its ways, the one with the shorter left part.
Json merges_of(const SentencePieceModel& model) {
  std::unordered_map<std::string_view, bool> pieces;
  for (const SentencePieceModel::Piece& piece : model.pieces) pieces.emplace(piece.text, true);
  Json merges = Json::array();
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    const std::string_view text = piece.text;
    for (std::size_t at = unicode::length_of(text[0]); at < text.size();
         at += unicode::length_of(text[at])) {
      if (pieces.contains(text.substr(0, at)) && pieces.contains(text.substr(at)))
        merges.push_back({text.substr(0, at), text.substr(at)});
    }
  }
  return merges;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  std::uint32_t bits = 0;
  unsigned held = 0;
  const auto flush = [&](unsigned least) {
    for (; held >= least && held > 0; held -= std::min(held, 6U)) {
      const std::uint32_t digit = held >= 6 ? bits >> (held - 6) : bits << (6 - held);
      text += kDigits[digit & 63U];
    }
  };
  for (const char byte : bytes) {
    bits = bits << 8U | static_cast<unsigned char>(byte);
    held += 8;
    flush(6);
  }
  flush(1);
  return text;
}

int extra_ids_of(const ConverterInput& input) {
  constexpr int kUsual = 100, kMost = 1 << 20;
  const auto found = input.config.find("extra_ids");
  if (found == input.config.end()) return kUsual;
  if (!found->is_number_integer() || *found < 0 || *found > kMost) {
    throw Error(ErrorKind::config,
                fmt::format("{}: \"extra_ids\" is not a number from 0 to {}",
                            input.files.path_of("tokenizer_config.json"), kMost),
                "T5 has 100");
  }
  return found->get<int>();
}

Json convert_t5(const ConverterInput& input, const SentencePieceModel& model) {
  expect(Algorithm::unigram, model, input);
  Json numbers = numbers_of(model), vocab = Json::array();
  for (const SentencePieceModel::Piece& piece : model.pieces)
    vocab.push_back({piece.text, static_cast<double>(piece.score)});
  std::vector<Json> added = added_pieces(model);
  for (int i = extra_ids_of(input) - 1; i >= 0; --i) {
    const std::string text = fmt::format("<extra_id_{}>", i);
    numbers.emplace(text, vocab.size());
    vocab.push_back({text, 0.0});
    added.emplace_back(text);
  }
  SpecialTokens tokens(input.files, input.config,
                       {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}});
  tokens.set_extra(std::move(added));
  Json json;
  json["added_tokens"] = tokens.numbered(numbers);
  if (!model.charsmap.empty()) {
    json["normalizer"] = {{"type", "Precompiled"},
                          {"precompiled_charsmap", base64(model.charsmap)}};
  }
  const Json spaces = {
      {"type", "Metaspace"}, {"replacement", kSpace}, {"prepend_scheme", "always"}};
  json["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers", {{{"type", "WhitespaceSplit"}}, spaces}}};
  json["decoder"] = spaces;
  const std::string end = tokens.text("eos_token");
  json["post_processor"] =
      template_around(tokens, {}, end.empty() ? std::vector<std::string>() : std::vector{end});
  json["model"] = {
      {"type", "Unigram"}, {"unk_id", 2}, {"exact_scores", true}, {"vocab", std::move(vocab)}};
  return json;
}

Json convert_llama(const ConverterInput& input, const SentencePieceModel& model) {
  expect(Algorithm::bpe, model, input);
  const bool adds_space = setting_of(input, "add_prefix_space", true);
  const bool is_legacy = setting_of(input, "legacy", false);
  Json vocab = numbers_of(model);
  SpecialTokens tokens(input.files, input.config,
                       {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}});
  tokens.set_extra(added_pieces(model));
  Json json;
  json["added_tokens"] = tokens.numbered(vocab);
  json["pre_tokenizer"] = {{"type", "Metaspace"},
                           {"replacement", kSpace},
                           {"prepend_scheme", !adds_space ? "never"
                                              : is_legacy ? "always"
                                                          : "first"},
                           {"split", false}};
  Json decoders = {{{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}},
                   {{"type", "ByteFallback"}},
                   {{"type", "Fuse"}}};
  if (adds_space) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}});
  json["decoder"] = {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
  json["post_processor"] = template_of_settings(input, tokens);
  json["model"] = {{"type", "BPE"},
                   {"fuse_unk", true},
                   {"byte_fallback", true},
                   {"vocab", std::move(vocab)},
                   {"merges", merges_of(model)}};
  return json;
}

}  // namespace

Json convert_t5(const ConverterInput& input) { return convert_t5(input, model_in(input)); }
Json convert_llama(const ConverterInput& input) { return convert_llama(input, model_in(input)); }

Json convert_sentence_piece(const ConverterInput& input) {
  const SentencePieceModel model = model_in(input);
  return model.algorithm == Algorithm::unigram ? convert_t5(input, model)
                                               : convert_llama(input, model);
}

}  // namespace ds
