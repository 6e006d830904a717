// LM head ops: loss, its gradient, logits. Letters as in kernels.h.
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.h"

namespace ds {

/// Sum of cross-entropies of softmax(in * weight^T) against targets; targets < 0 do not count.
/// Processes `chunk_rows` rows at a time, so the full logits never exist.
/// Shapes: in (rows, C), weight (V, C) act; targets (rows) i32; loss (1) f64, nats, summed; count
/// (1) i64. Columns from `valid_vocab` on are padding and have probability 0.
struct HeadLoss {
  ConstTensor in, weight, targets;
  Tensor loss, count;
  std::int64_t valid_vocab = 0, chunk_rows = 0;
};

/// HeadLoss and, in the same pass, the gradient of the *sum* of losses times `loss_scale`. din or
/// dweight may be missing: the first where nothing before the head trains, the second where it is
/// frozen.
/// Shapes: as HeadLoss; din (rows, C) act; dweight (V, C) f32.   Order: din may share in's memory.
struct HeadLossBackward {
  HeadLoss forward;
  Tensor din{}, dweight{};
  float loss_scale = 1.0F;
  bool accumulate = false;
};

/// out = in * weight^T for a few rows, in f32.   Shapes: in (rows, C), weight (V, C) act; out
/// (rows, V) f32.
struct Logits {
  ConstTensor in, weight;
  Tensor out;
};

}  // namespace ds
