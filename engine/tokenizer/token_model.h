// TokenModel: how a word becomes tokens: byte-pair encoding, Unigram or WordPiece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/tokenizer/component.h"

namespace ds {

/// Compares texts of any kind in a map by std::string.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
using TokenNumbers = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Appends the tokens of a word, which is valid UTF-8. May be called from several threads.
  virtual void encode(std::string_view word, std::vector<std::int32_t>& tokens) const = 0;
  [[nodiscard]] const TokenNumbers& numbers() const { return numbers_; }

 protected:
  /// Returns the token's number; -1 if there is none.
  [[nodiscard]] std::int32_t number_of(std::string_view token) const {
    const auto found = numbers_.find(token);
    return found == numbers_.end() ? -1 : found->second;
  }
  /// Reads the object {"token": number, ...}.
  void read_numbers(const Component& component, const char* key);
  /// Appends the tokens "<0x41>" of a text's bytes and returns true, if the vocabulary has all.
  bool add_bytes(std::string_view text, std::vector<std::int32_t>& tokens) const;

  TokenNumbers numbers_;
};

/// Returns a token's score as the tokenizers library reads it from tokenizer.json: serde_json
/// divides the digits by a power of 10, and rounds twice. Sums of scores that are near to each
/// other compare otherwise with the exact score.
double score_as_read(double exact);

/// Errors: Error{config}: a type or a key that is not supported, or a damaged vocabulary.
std::unique_ptr<TokenModel> make_bpe(const Component& component);
std::unique_ptr<TokenModel> make_unigram(const Component& component);
std::unique_ptr<TokenModel> make_word_piece(const Component& component);
std::unique_ptr<TokenModel> make_model(const Component& component);

}  // namespace ds
