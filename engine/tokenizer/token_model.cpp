// make_model() and what the models share; WordPiece.
#include "engine/tokenizer/token_model.h"

#include "engine/base/error.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

/// The longest tokens from left to right. Source: Wu et al., arXiv:1609.08144, as in BERT.
class WordPiece final : public TokenModel {
 public:
  explicit WordPiece(const Component& component)
      : prefix_(component.text("continuing_subword_prefix", "##")),
        most_(component.number("max_input_chars_per_word", 100)) {
    read_numbers(component, "vocab");
    const std::string unknown = component.text("unk_token", "[UNK]");
    unknown_ = number_of(unknown);
    if (unknown_ < 0) component.refuse(fmt::format("the vocabulary has no \"{}\"", unknown));
  }

  void encode(std::string_view word, std::vector<std::int32_t>& tokens) const override {
    const std::size_t before = tokens.size();
    if (pieces(word, tokens)) return;
    tokens.resize(before);
    tokens.push_back(unknown_);
  }

 private:
  /// Returns false if the word is too long or does not consist of tokens.
  bool pieces(std::string_view word, std::vector<std::int32_t>& tokens) const {
    std::vector<std::size_t> ends;  // of characters
    for (std::size_t at = 0; at < word.size(); ends.push_back(at)) {
      at += unicode::length_of(word[at]);
      if (std::cmp_greater_equal(ends.size(), most_)) return false;
    }
    std::string candidate;
    for (std::size_t first = 0, from = 0; first < word.size();) {
      std::int32_t token = -1;
      for (std::size_t end = ends.size(); end > from && token < 0; --end) {
        candidate = first > 0 ? prefix_ : std::string();
        candidate += word.substr(first, ends[end - 1] - first);
        token = number_of(candidate);
        if (token >= 0) {
          first = ends[end - 1];
          from = end;
        }
      }
      if (token < 0) return false;
      tokens.push_back(token);
    }
    return true;
  }

  std::string prefix_;
  std::int64_t most_;
  std::int32_t unknown_ = -1;
};

}  // namespace

void TokenModel::read_numbers(const Component& component, const char* key) {
  const Component::Json& vocab = component.member(key);
  if (!vocab.is_object()) component.refuse(fmt::format("\"{}\" is not an object", key));
  numbers_.reserve(vocab.size());
  for (const auto& [token, number] : vocab.items()) {
    if (!number.is_number_integer() || number < 0 || number > INT32_MAX)
      component.refuse(fmt::format("the token \"{}\" has no number", token));
    numbers_.emplace(token, number.get<std::int32_t>());
  }
}

bool TokenModel::add_bytes(std::string_view text, std::vector<std::int32_t>& tokens) const {
  const std::size_t before = tokens.size();
  for (const char byte : text) {
    tokens.push_back(number_of(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte))));
    if (tokens.back() >= 0) continue;
    tokens.resize(before);
    return false;
  }
  return true;
}

std::unique_ptr<TokenModel> make_word_piece(const Component& component) {
  return std::make_unique<WordPiece>(component);
}

std::unique_ptr<TokenModel> make_model(const Component& component) {
  const std::string type = component.type();
  // Old files do not name the type.
  if (type == "BPE" || (type.empty() && component.has("merges"))) return make_bpe(component);
  if (type == "WordPiece" || (type.empty() && component.has("max_input_chars_per_word")))
    return make_word_piece(component);
  if (type == "Unigram" || (type.empty() && component.has("unk_id")))
    return make_unigram(component);
  component.refuse_type();
}

}  // namespace ds
