// What a program of a model is built for, beside the model's own sizes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "engine/tensor/tensor.h"

namespace ds {

/// How much of the logits exists at one time. The chunk is arithmetic (its rows are summed in one
/// product), so it follows from shapes and the kind of device alone.
struct HeadChunk {
  std::int64_t elements = 32 << 20, most_rows = 1024;
  /// 1024 rows of a byte vocabulary, 512 of GPT-2's by default.
  [[nodiscard]] std::int64_t rows_of(std::int64_t rows, std::int64_t vocab) const {
    constexpr std::int64_t kLeast = 64;
    const auto fitting = static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(elements / vocab, 1))));
    return std::min(rows, std::clamp(fitting, kLeast, most_rows));
  }
};

/// For an accelerator, which reads and adds to the head's gradient once a chunk: 4096 rows of
/// GPT-2's vocabulary.
inline constexpr HeadChunk kAcceleratorChunk{.elements = 256 << 20, .most_rows = 8192};

struct ModelShape {
  std::int64_t micro = 1, seq_len = 1;  // B and T of this program
  std::int64_t valid_vocab = 256;       // tokens that exist; model.vocab may be padded above it
  DType act = DType::f32;
  double dropout = 0;  // of this program: config's when it trains, 0 when it does not
  HeadChunk head{};
};

}  // namespace ds
