// Changes that chat templates make to contents: white space at the ends, thoughts of an answer.
#pragma once

#include <string>
#include <string_view>

namespace ds {

/// Returns a text without white space at both ends, as Python's str.strip() and Jinja's trim do.
std::string trimmed(std::string_view text);

/// An answer in two parts; the thought is what <think> and </think> hold.
struct ThoughtAnswer {
  std::string thought{}, answer{};
};

/// Splits an answer as Qwen3's template does: at the last </think>, with line ends removed there. A
/// content without </think> has no thought and is not changed.
ThoughtAnswer thought_of(std::string_view content);

/// Returns the answer with its thought in front, which may be empty.
std::string with_thought(const ThoughtAnswer& parts);

}  // namespace ds
