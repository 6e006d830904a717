// encode_bytes() and decode_bytes().
#include "engine/data/byte_tokens.h"

namespace ds {

std::vector<std::int32_t> encode_bytes(std::string_view text) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string decode_bytes(std::span<const std::int32_t> tokens) {
  std::string text;
  text.reserve(tokens.size());
  for (const std::int32_t token : tokens) {
    text += token >= 0 && token < kByteTokens ? static_cast<char>(token) : '?';
  }
  return text;
}

}  // namespace ds
