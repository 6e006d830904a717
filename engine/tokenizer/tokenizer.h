// Tokenizer: text to token numbers and back, with Hugging Face's files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/token_borders.h"

namespace ds {

/// Gives the tokens of Hugging Face's tokenizers library. Threads may share it.
class Tokenizer {
 public:
  /// Opens a folder, or one of its files: tokenizer.json; or vocab.json and merges.txt, vocab.txt,
  /// spiece.model, or tokenizer.model, as transformers 5 does (docs/tokenizers.md). Errors:
  /// Error{config}: a file cannot be read, is damaged, or has a component that is not supported,
  /// which is named.
  static Tokenizer open(const std::string& path);
  /// Opens a tokenizer as open() does, or returns the one of the last call if the content is the
  /// same: a job needs its tokenizer for the configuration, for the data, and for samples.
  static std::shared_ptr<const Tokenizer> shared(const std::string& path);
  /// Returns whether a folder has a file that open() reads.
  static bool exists(const std::string& folder);
  /// Reads the text of a tokenizer.json; `place` names it in errors.
  Tokenizer(std::string_view json, const std::string& place);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Returns the tokens of a text. What is not UTF-8 in it is read as U+FFFD. `special`: also those
  /// that the model expects around a text, such as [CLS] and [SEP]. Errors: Error{config}: a text
  /// that the tokenizer has no tokens for.
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text, bool special = true) const;

  /// Returns the tokens of the joined pieces, as encode(joined, false), and where each piece begins
  /// among them. Errors: as encode().
  [[nodiscard]] EncodedPieces encode_pieces(std::span<const std::string_view> pieces) const;

  /// Returns the text of tokens. Numbers without a token are left out; so are special tokens unless
  /// `special` is set.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens,
                                   bool special = false) const;

  /// Returns the largest number of a token plus 1.
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] std::optional<std::int32_t> number_of(std::string_view token) const;
  /// Returns the XXH3-128 of all files that the tokenizer was made of, as 32 digits.
  [[nodiscard]] const std::string& hash() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace ds
