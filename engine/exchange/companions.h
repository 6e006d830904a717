// Companions: what a Hugging Face folder has beside its weights, and an export hands back
// unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ds {

struct Companions {
  /// Name and text: the tokenizer's files and generation_config.json.
  std::vector<std::pair<std::string, std::string>> files{};
  /// Keys of config.json with their values as JSON: bos_token_id, eos_token_id, pad_token_id,
  /// decoder_start_token_id. Of a folder that is a tokenizer alone: the first three, by the names
  /// in tokenizer_config.json.
  std::vector<std::pair<std::string, std::string>> tokens{};
  std::int64_t vocab = 0;  // vocab_size of its config.json; 0: not there
};

/// Reads what `folder` has of them. Errors: Error{config}: a
/// file of more than 256 MiB, or one that cannot be read.
Companions companions_of(const std::string& folder);

/// Returns the text of a config.json with the companions' token numbers in it.
std::string with_tokens(const std::string& config, const Companions& companions);

}  // namespace ds
