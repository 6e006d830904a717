#include "engine/tokenizer_training/safe_cuts.h"

namespace ds {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Returns the first safe place at or behind `from`; the end of the text if there is none.
std::size_t safe_place(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('\n', from); at < text.size(); at = text.find('\n', at + 1))
    if (at > 0 && at + 1 < text.size() && is_letter(text[at - 1]) && is_letter(text[at + 1]))
      return at + 1;
  return text.size();
}

}  // namespace

std::vector<std::string_view> safe_cuts(std::string_view text, std::size_t size) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = safe_place(text, at + size);
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

}  // namespace ds
