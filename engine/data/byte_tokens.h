// The bytes tokenizer: every byte is a token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

inline constexpr std::int64_t kByteTokens = 256;
std::vector<std::int32_t> encode_bytes(std::string_view text);
/// Returns the bytes of `tokens`; numbers of 256 and above (padding of the vocabulary) become '?'.
std::string decode_bytes(std::span<const std::int32_t> tokens);

}  // namespace ds
