#include "engine/config/sample_prompt.h"

#include "engine/base/token_numbers.h"
#include "engine/tokenizer/tokenizer.h"

namespace ds {

std::vector<std::int32_t> sample_prompt(const TrainConfig& config, const Tokenizer* tokenizer) {
  const std::string text = config.sample.prompt.empty() ? "\n" : config.sample.prompt;
  if (tokenizer != nullptr) return tokenizer->encode(text);
  if (config.data.tokenizer != "bytes")
    return token_numbers(config.sample.prompt).value_or(std::vector<std::int32_t>());
  std::vector<std::int32_t> bytes;
  for (const char byte : text) bytes.push_back(static_cast<unsigned char>(byte));
  return bytes;
}

}  // namespace ds
