// ChatTemplate: how a conversation is written as one text, and the table of named templates.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

/// What is written around a message's content.
struct ChatAffixes {
  std::string prefix{}, suffix{};
};

/// Where the system message is written.
enum class SystemPlace {
  message,     // as a message of its own
  first_user,  // within the first user message, before its content
  last_user,   // within the last user message, before its content
  refused      // nowhere: a system message is an error
};

/// How the part of an answer between <think> and </think> is written.
enum class Thinking {
  as_content,    // as any other content
  last_answers,  // removed from answers before the last user message, written in those behind it
  every_answer   // written in every answer, empty where the answer has none
};

/// The parts of a written conversation. Its texts may contain {bos}, {eos} and {date}, which stand
/// for the members below. A user's own template needs only the prefixes and suffixes of the roles.
struct ChatTemplate {
  std::string name{};
  std::string begin{};  // before the first message
  ChatAffixes system{}, user{};
  ChatAffixes assistant{};      // the suffix is trained, the prefix is not
  std::string before_answer{};  // between the prefix and the answer; trained
  std::string after_answer{};   // after the suffix; not trained
  /// Asks for an answer, at the end. Without a value: assistant.prefix and before_answer.
  std::optional<std::string> prompt{};
  std::optional<std::string> default_system{};  // written if the conversation has none
  std::string system_intro{};                   // within the first system message, before its text
  SystemPlace system_place = SystemPlace::message;
  Thinking thinking = Thinking::as_content;
  bool trims_system = false;  // removes white space at both ends, as Python's str.strip() does
  bool trims_user = false;    // with the system message that is written in it
  bool trims_answer = false;  // without the affixes
  bool alternates = false;    // after a system message only user, assistant, user, ...
  std::string end_token{};    // the text of the token that ends an answer; may be {eos}
  std::string bos{}, eos{};   // of the model; a folder's tokenizer_config.json names them
  std::string date = "26 Jul 2024";  // that of Llama 3.1's template
};

/// Returns the template; null if there is none with this name.
const ChatTemplate* chat_template_named(std::string_view name);

/// Returns the names of the table in its order.
std::vector<std::string> chat_template_names();

/// Returns a text of a template with {bos}, {eos} and {date} replaced.
std::string filled(const ChatTemplate& chat, std::string_view text);

}  // namespace ds
