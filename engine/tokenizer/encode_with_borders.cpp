#include "engine/tokenizer/encode_with_borders.h"

#include <fmt/format.h>

#include <algorithm>

namespace ds {
namespace {

/// Stands behind the beginning of a text, so that normalizers do not strip white space there.
constexpr char kGuard = 'x';

/// Returns how many bytes the words of a beginning, without the guard, have in common with `b`.
std::size_t common_length(std::span<const EncodedWord> a, std::span<const EncodedWord> b) {
  std::string left, right;
  for (const EncodedWord& word : a) left += word.text;
  for (const EncodedWord& word : b) right += word.text;
  if (left.ends_with(kGuard)) left.pop_back();
  return static_cast<std::size_t>(std::ranges::mismatch(left, right).in1 - left.begin());
}

/// Returns how many bytes of a text the token writes at its beginning, or at its end; 0 if that is
/// not known. "<0x41>" writes one byte.
std::size_t length_at(std::string_view text, std::string_view token, bool at_end) {
  if (token.empty() || text.empty()) return 0;
  if (at_end ? text.ends_with(token) : text.starts_with(token)) return token.size();
  const auto byte = static_cast<unsigned char>(at_end ? text.back() : text.front());
  return token == fmt::format("<0x{:02X}>", byte) ? 1 : 0;
}

/// Returns the border at `place` bytes of a word that has these tokens.
TokenBorder within(std::string_view word, std::span<const std::int32_t> tokens, std::size_t place,
                   const TokenText& text_of) {
  std::size_t at = 0, token = 0;
  while (token < tokens.size() && at < place) {
    const std::size_t length = length_at(word.substr(at), text_of(tokens[token]), false);
    if (length == 0) break;
    if (at + length > place) return {token, token + 1};
    at += length;
    ++token;
  }
  if (at == place) return {token, token};
  // From here on a token's text is not known; look from the other end.
  std::size_t end = word.size(), last = tokens.size();
  while (last > token && end > place) {
    const std::size_t length =
        length_at(word.substr(at, end - at), text_of(tokens[last - 1]), true);
    if (length == 0) break;
    if (end - length < place) return {last - 1, last};
    end -= length;
    --last;
  }
  return end == place ? TokenBorder{last, last} : TokenBorder{token, last};
}

/// Returns the border where `prefix` ends: the words of the text before the place, with the guard.
TokenBorder border_behind(std::span<const EncodedWord> prefix, std::span<const EncodedWord> words,
                          std::span<const std::int32_t> tokens, const TokenText& text_of) {
  std::size_t place = common_length(prefix, words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const EncodedWord& word = words[i];
    if (place == 0) return {word.first, word.first};
    const std::size_t end = i + 1 < words.size() ? words[i + 1].first : tokens.size();
    if (place < word.text.size()) {
      const TokenBorder inner =
          within(word.text, tokens.subspan(word.first, end - word.first), place, text_of);
      return {word.first + inner.ended, word.first + inner.begun};
    }
    place -= word.text.size();
  }
  return {tokens.size(), tokens.size()};
}

}  // namespace

EncodedPieces encode_with_borders(std::span<const TextSegment> segments,
                                  std::span<const std::size_t> places, const EncodeText& encode,
                                  const TokenText& text_of) {
  EncodedPieces result;
  std::size_t next = 0;  // the place that comes next
  for (const TextSegment& segment : segments) {
    const auto begin = static_cast<std::size_t>(segment.text.data() - segments.front().text.data());
    const std::size_t first = result.tokens.size();
    const bool is_token = segment.token >= 0;
    std::vector<EncodedWord> words;
    if (is_token) {
      result.tokens.push_back(segment.token);
    } else {
      words = encode(segment.text, begin == 0, result.tokens);
    }
    for (; next < places.size() && places[next] < begin + segment.text.size(); ++next) {
      if (places[next] <= begin) {
        result.begins.push_back({first, first});
      } else if (is_token) {
        result.begins.push_back({first, first + 1});
      } else {
        std::vector<std::int32_t> ignored;
        const std::string before(segment.text.substr(0, places[next] - begin));
        const auto prefix = encode(before + kGuard, begin == 0, ignored);
        result.begins.push_back(border_behind(prefix, words, result.tokens, text_of));
      }
    }
  }
  result.begins.resize(places.size() + 1, {result.tokens.size(), result.tokens.size()});
  return result;
}

}  // namespace ds
