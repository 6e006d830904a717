#include "engine/chat/chat_text.h"

#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>";

/// Python counts the four separators of ASCII as white space, which Unicode does not.
bool is_blank(char32_t c) { return unicode::is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

std::string_view without_lines_before(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  return text;
}

std::string_view without_lines_behind(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string trimmed(std::string_view bytes) {
  const std::string text = unicode::valid(bytes);
  std::size_t first = text.size(), end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (is_blank(unicode::next(text, at))) continue;
    if (first == text.size()) first = begin;
    end = at;
  }
  return first < end ? text.substr(first, end - first) : std::string();
}

ThoughtAnswer thought_of(std::string_view content) {
  const std::size_t close = content.find(kClose);
  if (close == std::string_view::npos) return {"", std::string(content)};
  std::string_view thought = without_lines_behind(content.substr(0, close));
  if (const std::size_t open = thought.rfind(kOpen); open != std::string_view::npos)
    thought.remove_prefix(open + kOpen.size());
  const std::string_view answer = content.substr(content.rfind(kClose) + kClose.size());
  return {std::string(without_lines_before(thought)), std::string(without_lines_before(answer))};
}

std::string with_thought(const ThoughtAnswer& parts) {
  std::string text = "<think>\n";
  text += without_lines_behind(without_lines_before(parts.thought));
  text += "\n</think>\n\n";
  text += without_lines_before(parts.answer);
  return text;
}

}  // namespace ds
