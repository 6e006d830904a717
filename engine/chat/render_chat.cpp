#include "engine/chat/render_chat.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/chat/chat_text.h"

namespace ds {
namespace {

/// Returns how errors name the template.
std::string label_of(const ChatTemplate& chat) {
  return chat.name.empty() ? "chat template" : "chat template " + chat.name;
}

[[noreturn]] void refuse(const ChatTemplate& chat, std::size_t index, const std::string& why,
                         const std::string& hint) {
  throw Error(ErrorKind::config, fmt::format("{}: message {}: {}", label_of(chat), index + 1, why),
              hint);
}

void check_role(const ChatTemplate& chat, std::size_t index, const std::string& role) {
  if (role == "system" || role == "user" || role == "assistant") return;
  if (role == "tool")
    refuse(chat, index, "the role \"tool\" is not supported",
           "leave out conversations with tools, or write their text into user messages");
  refuse(chat, index, fmt::format("unknown role \"{}\"", role),
         "roles are system, user and assistant");
}

void check_system(const ChatTemplate& chat, std::span<const ChatMessage> messages) {
  const bool is_first = messages[0].role == "system";
  if (is_first && chat.system_place == SystemPlace::refused)
    refuse(chat, 0, "this template has no system message",
           "write its text at the beginning of the first user message");
  const bool is_within = chat.system_place != SystemPlace::message;
  if (is_first && is_within && messages.size() == 1)
    refuse(chat, 0, "the system message is written within a user message, and there is none",
           "add a user message");
}

/// Checks that user and assistant alternate, after the system message if there is one.
void check_turns(const ChatTemplate& chat, std::span<const ChatMessage> messages) {
  const std::size_t first = messages[0].role == "system" ? 1 : 0;
  for (std::size_t i = first; i < messages.size(); ++i) {
    const std::string_view wanted = (i - first) % 2 == 0 ? "user" : "assistant";
    if (messages[i].role != wanted)
      refuse(chat, i,
             fmt::format("has the role \"{}\" where \"{}\" must be", messages[i].role, wanted),
             "after an optional system message, user and assistant must alternate");
  }
}

void check(const ChatTemplate& chat, std::span<const ChatMessage> messages) {
  if (messages.empty())
    throw Error(ErrorKind::config, label_of(chat) + ": no messages",
                "a conversation has at least one message");
  for (std::size_t i = 0; i < messages.size(); ++i) check_role(chat, i, messages[i].role);
  check_system(chat, messages);
  if (chat.alternates) check_turns(chat, messages);
}

bool has_user(std::span<const ChatMessage> messages) {
  return std::ranges::any_of(messages, [](const ChatMessage& each) { return each.role == "user"; });
}

/// Returns the last user message that is not a tool's response, as Qwen3's template looks for it;
/// the last message if there is none.
std::size_t last_question(std::span<const ChatMessage> messages) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    const std::string& content = messages[i].content;
    const bool is_response =
        content.starts_with("<tool_response>") && content.ends_with("</tool_response>");
    if (messages[i].role == "user" && !is_response) return i;
  }
  return messages.size() - 1;
}

class Writer {
 public:
  Writer(const ChatTemplate& chat, std::span<const ChatMessage> messages)
      : chat_(chat), messages_(messages) {
    if (messages[0].role == "system") {
      system_ = chat.trims_system ? trimmed(messages[0].content) : messages[0].content;
    } else if (chat.default_system) {
      system_ = *chat.default_system;
    }
  }

  std::vector<ChatPiece> write(bool add_generation_prompt) {
    affix(chat_.begin);
    if (system_ && chat_.system_place == SystemPlace::message) {
      affix(chat_.system.prefix);
      affix(chat_.system_intro);
      text(*system_);
      affix(chat_.system.suffix);
    }
    for (std::size_t i = messages_[0].role == "system" ? 1 : 0; i < messages_.size(); ++i)
      write_message(i);
    if (add_generation_prompt) {
      affix(chat_.prompt ? *chat_.prompt : chat_.assistant.prefix + chat_.before_answer);
    }
    return std::move(pieces_);
  }

 private:
  void text(std::string_view text, bool trained = false) {
    if (text.empty()) return;
    if (pieces_.empty() || pieces_.back().trained != trained) pieces_.push_back({"", trained});
    pieces_.back().text += text;
  }
  void affix(const std::string& affix, bool trained = false) {
    text(filled(chat_, affix), trained);
  }

  void write_message(std::size_t i) {
    const ChatMessage& message = messages_[i];
    if (message.role == "assistant") return write_answer(i);
    const bool is_user = message.role == "user";
    const ChatAffixes& affixes = is_user ? chat_.user : chat_.system;
    std::string content = message.content;
    if (is_user && system_ && holds_system(i))
      content = filled(chat_, chat_.system.prefix) + *system_ + filled(chat_, chat_.system.suffix) +
                content;
    affix(affixes.prefix);
    text((is_user ? chat_.trims_user : chat_.trims_system) ? trimmed(content) : content);
    affix(affixes.suffix);
  }

  void write_answer(std::size_t i) {
    affix(chat_.assistant.prefix);
    affix(chat_.before_answer, true);
    const std::string answer = answer_of(i);
    text(chat_.trims_answer ? trimmed(answer) : answer, true);
    affix(chat_.assistant.suffix, true);
    affix(chat_.after_answer);
  }

  [[nodiscard]] std::string answer_of(std::size_t i) const {
    const std::string& content = messages_[i].content;
    if (chat_.thinking == Thinking::as_content) return content;
    const ThoughtAnswer parts = thought_of(content);
    if (chat_.thinking == Thinking::every_answer) return with_thought(parts);
    const bool is_last = i + 1 == messages_.size();
    const bool thinks = i > last_question(messages_) && (is_last || !parts.thought.empty());
    return thinks ? with_thought(parts) : parts.answer;
  }

  /// Returns whether the system message is written in this user message.
  [[nodiscard]] bool holds_system(std::size_t i) const {
    if (chat_.system_place == SystemPlace::first_user) return !has_user(messages_.first(i));
    if (chat_.system_place == SystemPlace::last_user) return !has_user(messages_.subspan(i + 1));
    return false;
  }

  const ChatTemplate& chat_;
  std::span<const ChatMessage> messages_;
  std::optional<std::string> system_;
  std::vector<ChatPiece> pieces_;
};

}  // namespace

std::vector<ChatPiece> render_chat(const ChatTemplate& chat, std::span<const ChatMessage> messages,
                                   bool add_generation_prompt) {
  check(chat, messages);
  return Writer(chat, messages).write(add_generation_prompt);
}

std::string text_of(std::span<const ChatPiece> pieces) {
  std::string all;
  for (const ChatPiece& piece : pieces) all += piece.text;
  return all;
}

}  // namespace ds
