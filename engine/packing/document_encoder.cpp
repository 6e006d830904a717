// DocumentEncoder: tokenizes the texts of a document and adds the end token.
#include "engine/packing/document_encoder.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "engine/chat/chat_tokens.h"
#include "engine/chat/recognize.h"
#include "engine/config/text_formats.h"

namespace ds {
namespace {

/// Raise it when other tokens are made of the same document.
constexpr int kVersion = 1;

/// Returns the folder of a tokenizer, which is a folder or a file in it.
std::string folder_of(const std::string& tokenizer) {
  std::error_code ignored;
  const std::filesystem::path path(tokenizer);
  return std::filesystem::is_directory(path, ignored) ? path : path.parent_path();
}

/// Returns the template that data.chat_system, chat_user and chat_assistant describe.
ChatTemplate own_template(const DataConfig& config) {
  constexpr std::string_view kContent = "{content}";
  const auto affixes = [&](std::string_view key, const std::string& text) {
    const std::size_t at = text.find(kContent);
    if (at == std::string::npos)
      throw Error(ErrorKind::config, fmt::format("data.{}: it has no {}", key, kContent),
                  "write for example \"<|user|>{content}<|end|>\"");
    return ChatAffixes{text.substr(0, at), text.substr(at + kContent.size())};
  };
  ChatTemplate chat{.name = "own"};
  chat.begin = config.chat_begin;
  chat.system = affixes("chat_system", config.chat_system);
  chat.user = affixes("chat_user", config.chat_user);
  chat.assistant = affixes("chat_assistant", config.chat_assistant);
  use_tokens_of_folder(chat, folder_of(config.tokenizer));
  return chat;
}

/// Returns a text that differs where a template writes something else. Lengths stand before the
/// texts, because a blank at the end of one is otherwise equal to one at the beginning of the next.
std::string identity_of(const ChatTemplate& chat) {
  std::string all;
  for (const std::string* const text :
       {&chat.name, &chat.bos, &chat.eos, &chat.begin, &chat.system.prefix, &chat.system.suffix,
        &chat.user.prefix, &chat.user.suffix, &chat.assistant.prefix, &chat.assistant.suffix})
    all += fmt::format("{}:{} ", text->size(), *text);
  return all;
}

}  // namespace

ChatTemplate chat_template_of(const std::string& name, const std::string& tokenizer) {
  const std::string folder = folder_of(tokenizer);
  const std::string names = fmt::format("{}", fmt::join(chat_template_names(), ", "));
  if (name == "auto") {
    std::optional<ChatTemplate> found = recognize_chat_template(folder);
    if (found) return *std::move(found);
    throw Error(ErrorKind::config, fmt::format("{}: it has no chat template", folder),
                "name one of " + names);
  }
  const ChatTemplate* const named = chat_template_named(name);
  if (named == nullptr)
    throw Error(ErrorKind::config,
                fmt::format("there is no chat template \"{}\"", printable_text(name, 100)),
                "the names are " + names);
  ChatTemplate chat = *named;
  use_tokens_of_folder(chat, folder);
  return chat;
}

DocumentEncoder::DocumentEncoder(const DataConfig& config) : task_(config.task) {
  std::string hash = "bytes";
  if (config.tokenizer != "bytes") {
    tokenizer_ = Tokenizer::shared(config.tokenizer);
    specials_ = named_tokens(config.tokenizer, *tokenizer_);
    hash = tokenizer_->hash();
  }
  if (task_ == DataTask::chat && has_named_texts(config)) {
    chat_ = config.chat_template == "own"
                ? own_template(config)
                : chat_template_of(config.chat_template, config.tokenizer);
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
                  end_ ? *end_ : -1, chat_ ? identity_of(*chat_) : "");
}

std::int64_t DocumentEncoder::vocab() const { return tokenizer_ ? tokenizer_->size() : 256; }

std::vector<std::int32_t> DocumentEncoder::text_tokens(const std::string& text,
                                                       bool special) const {
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
  if (chat_) return encode_chat(document, out);
  const bool is_split = task_ == DataTask::response || task_ == DataTask::pairs;
  for (std::size_t i = 0; i < document.texts.size(); ++i) {
    const bool is_prompt = task_ == DataTask::response && i == 0;
    const bool continues = task_ == DataTask::response && i > 0;
    std::vector<std::int32_t> tokens = text_tokens(document.texts[i], !continues);
    if (!is_prompt) add_end(tokens);
    out.add(tokens, !is_prompt);
  }
  DS_ASSERT(out.sequences.size() == (is_split ? 2U : 1U));
}

void DocumentEncoder::encode_chat(const RawDocument& document, EncodedDocument& out) const {
  const ChatTokens chat = tokens_of(render_chat(*chat_, document.messages, false), *tokenizer_);
  for (std::size_t from = 0; from < chat.tokens.size();) {
    std::size_t to = from + 1;
    while (to < chat.tokens.size() && chat.trained[to] == chat.trained[from]) ++to;
    out.add(std::span(chat.tokens).subspan(from, to - from), chat.trained[from]);
    from = to;
  }
}

}  // namespace ds
