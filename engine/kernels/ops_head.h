// LM head ops: loss, its gradient, logits. Letters as in kernels.h.
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.h"

namespace ds {

/// Sum of cross-entropies of softmax(scale * in * weight^T + bias) against targets; targets < 0 do
/// not count. Processes `chunk_rows` rows at a time, so the full logits never exist. The work
/// follows the number of rows that count; on an accelerator only if `sparse` is set. It then
/// launches what that number makes necessary: the host reads the targets at that time, so they must
/// be in its memory, and the launches differ from run to run. Shapes: in (rows, C), weight (V, C),
/// bias (V, optional) act; targets (rows) i32; loss (1) f64, nats, summed; count (1) i64. Columns
/// from `valid_vocab` on are padding and have probability 0. Units:  scale * in is rounded to act
/// before the product, as in T5.
struct HeadLoss {
  ConstTensor in, weight, targets, bias{};
  Tensor loss, count;
  std::int64_t valid_vocab = 0, chunk_rows = 0;
  float scale = 1.0F;
  bool sparse = false;
};

/// HeadLoss and, in the same pass, the gradient of the *sum* of losses times `loss_scale`.
/// din is 0 in rows that do not count. din or dweight may be missing: the first where nothing
/// before the head trains, the second where it is frozen, as dbias.
/// Shapes: as HeadLoss; din (rows, C) act; dweight (V, C), dbias (V, with a bias) f32.   Order: din
/// may share in's memory.
struct HeadLossBackward {
  HeadLoss forward;
  Tensor din{}, dweight{}, dbias{};
  float loss_scale = 1.0F;
  bool accumulate = false;
};

/// out = scale * in * weight^T + bias for a few rows, in f32.   Shapes: in (rows, C), weight (V,
/// C), bias (V, optional) act; out (rows, V) f32.   Units: as HeadLoss.
struct Logits {
  ConstTensor in, weight, bias{};
  Tensor out;
  float scale = 1.0F;
};

}  // namespace ds
