// ModelShape: what a model's program is built for, beside the model's own sizes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "engine/config/train_config.h"
#include "engine/tensor/tensor.h"

namespace ds {

/// Limits how much of the logits exists at one time. The chunk is arithmetic (its rows are summed
/// in one product), so it depends only on shapes and the kind of device.
struct HeadChunk {
  std::int64_t elements = 32 << 20, most_rows = 1024;
  /// Returns the rows of a chunk: 1024 for a byte vocabulary, 512 for GPT-2's by default.
  [[nodiscard]] std::int64_t rows_of(std::int64_t rows, std::int64_t vocab) const {
    constexpr std::int64_t kLeast = 64;
    const auto fitting = static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(elements / vocab, 1))));
    return std::min(rows, std::clamp(fitting, kLeast, most_rows));
  }
};

/// Chunk of an accelerator, which reads the head's gradient and adds to it once per chunk: 4096
/// rows of GPT-2's vocabulary.
inline constexpr HeadChunk kAcceleratorChunk{.elements = 256 << 20, .most_rows = 8192};

struct ModelShape {
  std::int64_t micro = 1, seq_len = 1;  // B and T of this program
  std::int64_t valid_vocab = 256;       // number of tokens; model.vocab may be padded above it
  DType act = DType::f32;
  double dropout = 0;  // of this program: the config's when it trains, else 0
  HeadChunk head{};
  // Not 0: the program has no loss, but logits of this many rows, which the input "last" names.
  std::int64_t logits = 0;
  // Not 0: the program decodes, and `logits` is B. Attention sees the positions of a cache, of
  // which each sequence has this many; a model with an encoder also keeps the encoder's keys.
  std::int64_t cache = 0;
  std::int64_t positions = 0;  // rows of a table of learned positions; 0: seq_len
  // Few rows of the head have a target, so an accelerator selects those (HeadLoss::sparse).
  bool few_targets = false;
  DataFields fields{};  // of the data; the program reads those that its model has a use for
};

}  // namespace ds
