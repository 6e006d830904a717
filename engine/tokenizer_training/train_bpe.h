// train_bpe(): learns the merges of a byte-level BPE tokenizer from counted pieces (pure).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/tokenizer_training/count_pieces.h"

namespace ds {

struct BpeSettings {
  std::int64_t vocab = 0;          // tokens to make, special ones and 256 bytes included
  std::int64_t min_frequency = 0;  // of a pair that is merged
  std::vector<std::string> special{};
  /// Called after each merge with the tokens so far, and `vocab`; may be empty.
  std::function<void(std::int64_t done, std::int64_t all)> tell{};
};

/// A merge: the numbers of the left and of the right token.
using TokenMerge = std::pair<std::int32_t, std::int32_t>;

struct TrainedBpe {
  std::vector<std::string> tokens;  // by number, with the characters of ByteLevel
  std::vector<TokenMerge> merges;   // the first one is applied first
};

/// Returns the tokens and merges of tokenizers' BpeTrainer with the same settings and
/// ByteLevel.alphabet() as initial_alphabet. Tokens: the special ones, the characters of bytes by
/// code point, and what each merge makes. The next merge is the most frequent pair; of equal ones
/// that with the lowest numbers. Fewer tokens than `vocab` are made where no pair is as frequent as
/// `min_frequency`. Source: tokenizers/src/models/bpe/trainer.rs of Hugging Face's tokenizers 0.23;
/// counts are 64 bits here, not 32.
TrainedBpe train_bpe(std::span<const CountedPiece> pieces, const BpeSettings& settings);

}  // namespace ds
