// render_chat(): writes a conversation with a chat template.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/chat/chat_template.h"

namespace ds {

struct ChatMessage {
  std::string role{};  // system, user or assistant
  std::string content{};
};

/// A part of the text. Special tokens in it, those of contents included, are found as in any text.
struct ChatPiece {
  std::string text{};
  bool trained = false;  // an answer with its end token

  bool operator==(const ChatPiece&) const = default;
};

/// Returns the pieces in order; none is empty, and neighbors differ in `trained`. Joined, they are
/// the text of transformers' apply_chat_template(add_generation_prompt=...). Errors: Error{config}
/// with the number of the message, from 1: no messages, an unknown role, a tool's message, a system
/// message that the template cannot write, roles that do not alternate where they must.
std::vector<ChatPiece> render_chat(const ChatTemplate& chat, std::span<const ChatMessage> messages,
                                   bool add_generation_prompt);

/// Returns the joined text.
std::string text_of(std::span<const ChatPiece> pieces);

}  // namespace ds
