#include "engine/tokenizer/added_tokens.h"

#include <algorithm>

#include "engine/tokenizer/pattern.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

/// Returns where the last character of a text begins.
std::size_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

/// Returns whether a text is one character of a word.
bool is_of_word(std::string_view character) {
  static const Pattern kWord(std::string("[") + kRustWord + "]");
  std::vector<Part> found;
  kWord.find(character, found);
  return !found.empty();
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_of_word(text.substr(last_character(text)));
}

bool begins_with_word(std::string_view text) {
  return !text.empty() && is_of_word(text.substr(0, unicode::length_of(text[0])));
}

std::size_t without_space_at_end(std::string_view text) {
  while (!text.empty()) {
    const std::size_t first = last_character(text);
    std::size_t at = first;
    if (!unicode::is_white_space(unicode::next(text, at))) break;
    text = text.substr(0, first);
  }
  return text.size();
}

std::size_t space_at_begin(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t behind = at;
    if (!unicode::is_white_space(unicode::next(text, behind))) break;
    at = behind;
  }
  return at;
}

}  // namespace

void TokenFinder::add(const AddedToken& token, const std::string& as_written) {
  if (as_written.empty()) return;
  auto& entries = by_first_byte_[static_cast<unsigned char>(as_written[0])];
  const auto at = std::ranges::find_if(
      entries, [&](const Entry& entry) { return entry.text.size() < as_written.size(); });
  entries.insert(at, {as_written, token});
  begins_[static_cast<unsigned char>(as_written[0])] = true;
}

const TokenFinder::Entry* TokenFinder::longest_at(std::string_view text) const {
  for (const Entry& entry : by_first_byte_[static_cast<unsigned char>(text[0])])
    if (text.starts_with(entry.text)) return &entry;
  return nullptr;
}

std::size_t TokenFinder::next_candidate(std::string_view text, std::size_t at) const {
  while (at < text.size() && !begins_[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

void TokenFinder::cut(std::string_view text, std::vector<TextSegment>& segments) const {
  std::size_t done = 0;
  for (std::size_t at = 0; (at = next_candidate(text, at)) < text.size();) {
    const Entry* const found = longest_at(text.substr(at));
    if (found == nullptr) {
      ++at;
      continue;
    }
    std::size_t first = at, end = at + found->text.size();
    at = end;
    const AddedToken& token = found->token;
    if (token.single_word &&
        (ends_with_word(text.substr(0, first)) || begins_with_word(text.substr(end))))
      continue;
    if (token.lstrip) first = std::max(without_space_at_end(text.substr(0, first)), done);
    if (token.rstrip) end += space_at_begin(text.substr(end));
    if (first >= end) continue;  // the token before it took all of it
    if (first > done) segments.push_back({text.substr(done, first - done)});
    segments.push_back({text.substr(first, end - first), token.number});
    done = end;  // the library finds tokens also in the white space that this one took
  }
  if (done < text.size()) segments.push_back({text.substr(done)});
}

std::vector<AddedToken> added_tokens_of(const Component& tokenizer) {
  std::vector<AddedToken> tokens;
  if (!tokenizer.has("added_tokens")) return tokens;
  for (const Component& each : tokenizer.children("added_tokens")) {
    const bool special = each.flag("special", false);
    tokens.push_back({.content = each.text("content"),
                      .number = static_cast<std::int32_t>(each.number("id", -1)),
                      .special = special,
                      .normalized = each.flag("normalized", !special),
                      .lstrip = each.flag("lstrip", false),
                      .rstrip = each.flag("rstrip", false),
                      .single_word = each.flag("single_word", false)});
    if (tokens.back().number < 0) each.refuse("has no \"id\"");
  }
  return tokens;
}

}  // namespace ds
