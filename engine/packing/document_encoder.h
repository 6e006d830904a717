// DocumentEncoder: from a written document to its tokens, and which of them are learned.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/config/train_config.h"
#include "engine/packing/raw_reader.h"
#include "engine/packing/token_writer.h"
#include "engine/tokenizer/named_tokens.h"
#include "engine/tokenizer/tokenizer.h"

namespace ds {

/// Returns the template with this name, with the tokens of the tokenizer's folder; "auto": the
/// folder's own. Errors: Error{config}: an unknown name, or none; as recognize_chat_template().
ChatTemplate chat_template_of(const std::string& name, const std::string& tokenizer);

/// Threads may share it.
class DocumentEncoder {
 public:
  /// Errors: Error{config}: a tokenizer that cannot be read, an end token that it does not have.
  explicit DocumentEncoder(const DataConfig& config);

  /// Overwrites `out`. text, masked, spans: one sequence, with the tokens that the tokenizer puts
  /// around a text. response: the prompt, which is not trained, and the answer. pairs: two such. An
  /// end token follows, if there is one and the tokenizer has not put it there. Errors:
  /// Error{config}.
  void encode(const RawDocument& document, EncodedDocument& out) const;

  /// Returns a text that differs where tokens may differ.
  [[nodiscard]] const std::string& identity() const { return identity_; }
  /// Returns the largest token plus 1.
  [[nodiscard]] std::int64_t vocab() const;
  /// Returns null if tokens are bytes.
  [[nodiscard]] const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  [[nodiscard]] const NamedTokens& specials() const { return specials_; }
  /// Returns the token behind each document, if there is one.
  [[nodiscard]] std::optional<std::int32_t> end() const { return end_; }

 private:
  void encode_chat(const RawDocument& document, EncodedDocument& out) const;
  [[nodiscard]] std::vector<std::int32_t> text_tokens(const std::string& text, bool special) const;
  void add_end(std::vector<std::int32_t>& tokens) const;

  DataTask task_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  NamedTokens specials_;
  std::optional<ChatTemplate> chat_;
  std::optional<std::int32_t> end_;
  std::string identity_;
};

}  // namespace ds
