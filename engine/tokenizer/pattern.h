// Pattern: a regular expression of tokenizer.json, compiled by PCRE2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ds {

/// A part of a text, [first, second) in bytes.
using Part = std::pair<std::size_t, std::size_t>;

/// The characters of words for the library's own code, for use within [ ]: Rust's \w (Unicode Annex
/// 18). It differs from \w in an expression of a file, which means Oniguruma's.
inline constexpr const char* kRustWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d})";

class Pattern {
 public:
  /// `expression`: as the tokenizers library gives it to Oniguruma. Errors: Error{config}: not a
  /// regular expression, or one with syntax that PCRE2 reads in another way.
  explicit Pattern(const std::string& expression);
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  /// Replaces `found` by the matches in a valid UTF-8 text, in order. A match may be empty, but not
  /// at the end of the match before it. An empty text has none. Errors: Error{config} where the
  /// expression needs more steps than PCRE2 allows.
  void find(std::string_view text, std::vector<Part>& found) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

/// Returns an expression that matches exactly this text.
std::string escaped(std::string_view text);

}  // namespace ds
