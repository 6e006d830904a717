// Formats the message, the excerpt and the caret line of an error in a text.
#include "engine/base/text_error.h"

#include <fmt/format.h>

#include <algorithm>

namespace ds {
namespace {

constexpr std::size_t kShownBefore = 100;  // bytes of a long line shown left of the error,
constexpr std::size_t kShownAfter = 60;    // and right of it

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

/// Moves the cut point `at` left to the start of a UTF-8 character.
std::size_t character_start(std::string_view line, std::size_t at) {
  while (at > 0 && at < line.size() && continues_character(line[at])) --at;
  return at;
}

/// Returns blanks as wide as `text` on a terminal: tabs stay, other characters become spaces.
std::string blank(std::string_view text) {
  std::string spaces;
  for (const char c : text) {
    if (!continues_character(c)) spaces += c == '\t' ? '\t' : ' ';
  }
  return spaces;
}

}  // namespace

std::string printable_text(std::string_view text, std::size_t limit) {
  std::string shown(text.substr(0, limit));
  for (char& c : shown) {
    if (is_control(c) && c != '\t') c = '?';
  }
  if (text.size() > limit) shown.resize(character_start(text, limit));
  return text.size() > limit ? shown + "..." : shown;
}

int text_column(std::string_view line, std::size_t offset) {
  const std::string_view before = line.substr(0, offset);
  return static_cast<int>(std::count_if(before.begin(), before.end(),
                                        [](char c) { return !continues_character(c); })) +
         1;
}

Error text_error(const SourceLine& line, std::size_t offset, std::string_view what,
                 std::string hint) {
  const std::string_view text = line.text;
  offset = std::min(offset, text.size());
  const std::size_t first =
      character_start(text, offset > kShownBefore ? offset - kShownBefore : 0);
  const std::size_t last = character_start(text, std::min(text.size(), offset + kShownAfter));
  const std::string_view left = first > 0 ? "..." : "";
  const std::string_view right = last < text.size() ? "..." : "";
  const std::string place =
      line.number == 0 ? std::string(line.file)
                       : fmt::format("{}:{}:{}", line.file, line.number, text_column(text, offset));
  return {ErrorKind::config,
          fmt::format("{}: {}\n  {}{}{}\n  {}{}^", place, printable_text(what), left,
                      printable_text(text.substr(first, last - first)), right, blank(left),
                      blank(text.substr(first, offset - first))),
          std::move(hint)};
}

}  // namespace ds
