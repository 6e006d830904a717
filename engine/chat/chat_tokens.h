// tokens_of(): the tokens of a written conversation, and which of them are trained.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/chat/render_chat.h"
#include "engine/tokenizer/tokenizer.h"

namespace ds {

struct ChatTokens {
  std::vector<std::int32_t> tokens{};
  std::vector<bool> trained{};  // of each token
};

/// Returns the tokens of the joined pieces without those that a post-processor adds: the template
/// writes the token that begins a text. They are the tokens of the whole text, also where a token
/// goes across the border of two pieces; such a token is trained if one of its bytes is. This is
/// transformers' apply_chat_template(return_assistant_tokens_mask=True). Errors: as
/// Tokenizer::encode().
ChatTokens tokens_of(std::span<const ChatPiece> pieces, const Tokenizer& tokenizer);

/// Returns the token that ends an answer; nothing if the template names none, or the tokenizer has
/// no single token for it, so that a model cannot be told to stop there.
std::optional<std::int32_t> end_token_of(const ChatTemplate& chat, const Tokenizer& tokenizer);

}  // namespace ds
