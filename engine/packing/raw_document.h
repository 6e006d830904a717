// RawDocument: a document as it is written in a file, before it becomes tokens.
#pragma once

#include <string>
#include <vector>

#include "engine/chat/render_chat.h"

namespace ds {

struct RawDocument {
  std::vector<std::string> texts;     // of the fields that the task reads
  std::vector<ChatMessage> messages;  // of a conversation
};

/// Returns the name that chat templates have for a role: ShareGPT writes "human" and "gpt".
inline std::string common_role(std::string role) {
  if (role == "human") return "user";
  if (role == "gpt") return "assistant";
  return role;
}

}  // namespace ds
