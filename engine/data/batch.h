// Batches: converts bytes of a corpus to token numbers and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/corpus.h"

namespace ds {

/// Fills one batch. Shapes: offsets (B); tokens, targets (B * seq_len), where targets are the
/// tokens shifted by one. The caller guarantees offset + seq_len + 1 <= corpus.size(). Allocates
/// nothing. Errors: Error{config} with the file and byte of a token that is not below
/// `valid_vocab`: kernels would read other memory with it.
void fill_batch(const Corpus& corpus, std::span<const std::int64_t> offsets, std::int64_t seq_len,
                std::int64_t valid_vocab, std::span<std::int32_t> tokens,
                std::span<std::int32_t> targets);

/// The bytes tokenizer: token = byte.
inline constexpr std::int64_t kByteTokens = 256;
std::vector<std::int32_t> encode_bytes(std::string_view text);
/// Returns the bytes of `tokens`; numbers of 256 and above (padding of the vocabulary) become '?'.
std::string decode_bytes(std::span<const std::int32_t> tokens);

}  // namespace ds
