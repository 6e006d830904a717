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

/// `chat`: the template by which a prompt becomes a user's message, "auto" for the folder's own;
/// empty: prompts are texts. Returns null if there is neither. Errors: Error{config}: a tokenizer
/// that is damaged or has a component that is not supported; as chat_template_of().
std::unique_ptr<TextCodec> codec_of(const SampledModel& model, const std::string& chat = {});

}  // namespace ds
