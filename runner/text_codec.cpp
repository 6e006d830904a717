#include "runner/text_codec.h"

#include "engine/data/byte_tokens.h"
#include "engine/tokenizer/tokenizer.h"

namespace ds {

std::unique_ptr<TextCodec> codec_of(const SampledModel& model) {
  if (model.is_bytes)
    return std::make_unique<TextCodec>(TextCodec{.encode = encode_bytes, .decode = decode_bytes});
  if (model.is_checkpoint || !Tokenizer::exists(model.path)) return nullptr;
  const auto tokenizer = std::make_shared<Tokenizer>(Tokenizer::open(model.path));
  return std::make_unique<TextCodec>(TextCodec{
      .encode = [tokenizer](const std::string& text) { return tokenizer->encode(text); },
      .decode =
          [tokenizer](std::span<const std::int32_t> tokens) { return tokenizer->decode(tokens); }});
}

}  // namespace ds
