// NamedTokens: the tokens with a meaning that the files beside a tokenizer name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/tokenizer/tokenizer.h"

namespace ds {

struct NamedTokens {
  std::optional<std::int32_t> end, mask;  // eos_token, mask_token
  std::vector<std::int32_t> all;          // sorted: every one that is named
};

/// Reads tokenizer_config.json and special_tokens_map.json in the folder of `path`, which is a
/// tokenizer's folder or file. Without such files the mask is [MASK] or <mask>, if there is one.
NamedTokens named_tokens(const std::string& path, const Tokenizer& tokenizer);

}  // namespace ds
