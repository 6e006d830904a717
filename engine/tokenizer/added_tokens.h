// AddedTokens: the tokens that are found in a text before it is cut into words.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/component.h"

namespace ds {

struct AddedToken {
  std::string content{};
  std::int32_t number = 0;
  bool special = false;
  bool normalized = false;              // is looked for in the normalized text
  bool lstrip = false, rstrip = false;  // takes white space on that side with it
  bool single_word = false;             // only between characters that are not of a word
};

/// A part of a text: a token, or text between tokens where the token is -1.
struct TextSegment {
  std::string_view text{};
  std::int32_t token = -1;
};

/// Finds some tokens in texts, the longest of those that begin first.
class TokenFinder {
 public:
  void add(const AddedToken& token, const std::string& as_written);
  /// Appends the segments of a valid UTF-8 text; none is empty.
  void cut(std::string_view text, std::vector<TextSegment>& segments) const;

 private:
  struct Entry {
    std::string text;
    AddedToken token;
  };
  [[nodiscard]] const Entry* longest_at(std::string_view text) const;
  /// Returns the first place from `at` on where a token may begin; the text's end if there is none.
  [[nodiscard]] std::size_t next_candidate(std::string_view text, std::size_t at) const;

  std::array<bool, 256> begins_{};  // whether a token begins with the byte
  std::vector<std::vector<Entry>> by_first_byte_ = std::vector<std::vector<Entry>>(256);
};

/// Reads the list "added_tokens". Errors: Error{config}.
std::vector<AddedToken> added_tokens_of(const Component& tokenizer);

}  // namespace ds
