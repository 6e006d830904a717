// Comments of a hostfile: # and // to the end of the line, /* */ over several lines.
#include <algorithm>

#include "launcher/hosts/host_line.h"

namespace ds::launcher {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Returns the error for an unclosed comment at byte `at` of `text`.
Error error_at(std::string_view text, std::size_t at, std::string_view file) {
  const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0.
  const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
  const auto lines_before =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return text_error({file, static_cast<int>(lines_before) + 1, text.substr(begin, end - begin)},
                    at - begin, "unclosed comment", "add */ at its end");
}

}  // namespace

std::string blank_comments(std::string_view text, std::string_view file) {
  std::string code(text);
  bool word_starts = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t end = at;
    if (word_starts && (rest.starts_with('#') || rest.starts_with("//"))) {
      end = std::min(text.find('\n', at), text.size());
    } else if (word_starts && rest.starts_with("/*")) {
      const std::size_t closing = text.find("*/", at + 2);
      if (closing == std::string_view::npos) throw error_at(text, at, file);
      end = closing + 2;
    }
    if (end == at) {
      word_starts = is_blank(text[at++]);
      continue;
    }
    for (; at < end; ++at)
      if (!is_blank(text[at])) code[at] = ' ';
    word_starts = true;
  }
  return code;
}

}  // namespace ds::launcher
