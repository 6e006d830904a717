// TextCodec: text to a model's tokens and back, where its tokens are bytes or its folder has a
// tokenizer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/sample/open_model.h"

namespace ds {

struct TextCodec {
  /// Returns the tokens of a prompt, with those that the model expects around a text. Errors:
  /// Error{config}.
  std::function<std::vector<std::int32_t>(const std::string&)> encode;
  /// Returns the text of tokens, without special ones.
  std::function<std::string(std::span<const std::int32_t>)> decode;
  bool is_chat = false;               // prompts are written as messages
  std::optional<std::int32_t> end{};  // the token that ends a text or an answer
};

/// Returns null if there is neither. Errors: as Tokenizer::open().
std::unique_ptr<TextCodec> codec_of(const SampledModel& model);

}  // namespace ds
