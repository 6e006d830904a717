// The files of a trained tokenizer: tokenizer.json and tokenizer_config.json (pure).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tokenizer_training/train_bpe.h"

namespace ds {

/// What a family of models expects of its tokenizer.
struct TokenizerKind {
  std::string_view name;             // "bert"
  std::vector<std::string> special;  // in the order of their numbers
  /// Of tokenizer_config.json: {"mask_token", "[MASK]"}.
  std::vector<std::pair<std::string, std::string>> named;
  std::vector<std::string> before, behind;  // what stands around a text
};

/// Returns the kind gpt2, bert, roberta or t5.
TokenizerKind tokenizer_kind(std::string_view name);
/// Returns the expression of the pattern gpt2, llama3, qwen2 or o200k, as tokenizer.json has it.
std::string piece_pattern(std::string_view name);

/// `bpe.tokens` begin with kind.special, then `more`, special tokens of the user.
struct TokenizerParts {
  const TokenizerKind& kind;
  const std::vector<std::string>& more;
  std::string_view pattern;  // its name
  const TrainedBpe& bpe;
};
/// Returns the text of a tokenizer.json of tokenizers 0.23.
std::string tokenizer_json(const TokenizerParts& parts);
/// Returns the text of tokenizer_config.json: the names of special tokens.
std::string tokenizer_config_json(const TokenizerParts& parts);

}  // namespace ds
