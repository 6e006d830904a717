// DocumentEncoder: tokenizes the texts of a document and adds the end token.
#include "engine/packing/document_encoder.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/text_error.h"

namespace ds {
namespace {

/// Raise it when other tokens are made of the same document.
constexpr int kVersion = 1;

}  // namespace

DocumentEncoder::DocumentEncoder(const DataConfig& config) : task_(config.task) {
  std::string hash = "bytes";
  if (config.tokenizer != "bytes") {
    tokenizer_ = std::make_shared<const Tokenizer>(Tokenizer::open(config.tokenizer));
    specials_ = special_tokens(config.tokenizer, *tokenizer_);
    hash = tokenizer_->hash();
  }
  if (config.end == "auto") {
    end_ = specials_.end;
  } else if (config.end != "none") {
    end_ = tokenizer_ ? tokenizer_->number_of(config.end) : std::nullopt;
    if (!end_)
      throw Error(ErrorKind::config,
                  fmt::format("data.end: the tokenizer has no token \"{}\"",
                              printable_text(config.end, 100)),
                  "write a token as its text, such as \"</s>\", or \"none\"");
  }
  identity_ =
      fmt::format("version {}, tokenizer {}, format {}, task {}, fields {}, end {}, {}", kVersion,
                  hash, config.format, static_cast<int>(task_), fmt::join(config.json_fields, ","),
                  end_ ? *end_ : -1, config.chat_template);
}

std::int64_t DocumentEncoder::vocab() const { return tokenizer_ ? tokenizer_->size() : 256; }

std::vector<std::int32_t> DocumentEncoder::tokens_of(const std::string& text, bool special) const {
  if (tokenizer_) return tokenizer_->encode(text, special);
  std::vector<std::int32_t> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

void DocumentEncoder::add_end(std::vector<std::int32_t>& tokens) const {
  if (end_ && (tokens.empty() || tokens.back() != *end_)) tokens.push_back(*end_);
}

void DocumentEncoder::encode(const RawDocument& document, EncodedDocument& out) const {
  out.clear();
  const bool is_split = task_ == DataTask::response || task_ == DataTask::pairs;
  for (std::size_t i = 0; i < document.texts.size(); ++i) {
    const bool is_prompt = task_ == DataTask::response && i == 0;
    const bool continues = task_ == DataTask::response && i > 0;
    std::vector<std::int32_t> tokens = tokens_of(document.texts[i], !continues);
    if (!is_prompt) add_end(tokens);
    out.add(tokens, !is_prompt);
  }
  DS_ASSERT(out.sequences.size() == (is_split ? 2U : 1U));
}

}  // namespace ds
