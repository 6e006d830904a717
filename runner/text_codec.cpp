#include "runner/text_codec.h"

#include "engine/base/error.h"
#include "engine/chat/chat_tokens.h"
#include "engine/data/byte_tokens.h"
#include "engine/packing/document_encoder.h"
#include "engine/tokenizer/named_tokens.h"

namespace ds {

std::unique_ptr<TextCodec> codec_of(const SampledModel& model, const std::string& chat) {
  if (!chat.empty() && model.tokenizer.empty())
    throw Error(ErrorKind::usage, "--chat: this model has no tokenizer",
                "name a Hugging Face folder with a tokenizer");
  if (model.is_bytes)
    return std::make_unique<TextCodec>(TextCodec{.encode = encode_bytes, .decode = decode_bytes});
  if (model.tokenizer.empty()) return nullptr;
  const auto tokenizer = Tokenizer::shared(model.tokenizer);
  TextCodec codec{
      .encode = [tokenizer](const std::string& text) { return tokenizer->encode(text); },
      .decode =
          [tokenizer](std::span<const std::int32_t> tokens) { return tokenizer->decode(tokens); }};
  if (model.is_checkpoint) codec.end = named_tokens(model.tokenizer, *tokenizer).end;
  if (!chat.empty()) {
    const ChatTemplate written = chat_template_of(chat, model.tokenizer);
    codec.is_chat = true;
    codec.end = end_token_of(written, *tokenizer);
    codec.encode = [tokenizer, written](const std::string& text) {
      const ChatMessage question{.role = "user", .content = text};
      return tokens_of(render_chat(written, std::span(&question, 1), true), *tokenizer).tokens;
    };
  }
  return std::make_unique<TextCodec>(std::move(codec));
}

}  // namespace ds
