// Row ops: embedding, norms, activations, sums, casts. Letters as in kernels.h.
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.h"

namespace ds {

/// out[r] = wte[tokens[r]] + wpe[positions[r]], without positions wpe[r % T]; without wpe (rotary
/// models have none): wte[tokens[r]].
/// Shapes: tokens, positions (rows) i32; wte (V, C), wpe (T, C), out (rows, C) act.
struct Embed {
  ConstTensor tokens, wte, wpe{}, positions{};
  Tensor out;
};

/// Adds dout to the rows of dwte that the tokens select (in row order, so always the same bits) and
/// to dwpe (if given), where the positions or r % T select the row. Shapes: tokens, positions
/// (rows) i32; dout (rows, C) act; dwte (V, C), dwpe (T, C) f32.
struct EmbedBackward {
  ConstTensor tokens, dout, positions{};
  Tensor dwte, dwpe{};
  bool accumulate_wte = false, accumulate_wpe = false;
};

/// sum = in + delta (if delta is empty, `sum` is unused and `in` itself is normalized);
/// out = (sum - mean) * rstd * weight + bias over the last axis.
/// Shapes: in, delta, sum, out (rows, C), weight, bias (C) act; mean, rstd (rows) f32.
/// Units:  statistics in f32; in 16 bits the sum is rounded once and the rounded value is
/// normalized.
struct LayerNorm {
  ConstTensor in, delta{}, weight, bias;
  Tensor sum{}, out, mean, rstd;
  float eps = 1e-5F;
};

/// din = LayerNorm's gradient + dresidual (if given). `in` is the normalized input.
/// Shapes: dout, in, dresidual, din (rows, C) act, weight (C) act; mean, rstd (rows) f32; dweight,
/// dbias (C) f32. Order:  din may share dresidual's memory.
struct LayerNormBackward {
  ConstTensor dout, in, weight, mean, rstd, dresidual{};
  Tensor din, dweight, dbias;
  bool accumulate = false;
};

/// sum = in + delta (if delta is empty, `sum` is unused and `in` itself is normalized);
/// out = sum * rstd * weight, rstd = 1 / sqrt(mean of squares + eps) over the last axis.
/// Shapes: in, delta, sum, out (rows, C), weight (C) act; rstd (rows) f32.
/// Units:  as LayerNorm. Source: Zhang and Sennrich, arXiv:1910.07467.
struct RmsNorm {
  ConstTensor in, delta{}, weight;
  Tensor sum{}, out, rstd;
  float eps = 1e-5F;
};

/// din = RmsNorm's gradient + dresidual (if given). `in` is the normalized input.
/// Shapes: dout, in, dresidual, din (rows, C) act, weight (C) act; rstd (rows) f32; dweight (C)
/// f32. Order:  din may share dresidual's memory.
struct RmsNormBackward {
  ConstTensor dout, in, weight, rstd, dresidual{};
  Tensor din, dweight;
  bool accumulate = false;
};

/// out = gelu_tanh(in), with the bits that Linear's gelu epilogue makes from `pre`; used to
/// recompute. Shapes: in, out (n) act.   Order: out may share in's memory.
struct Gelu {
  ConstTensor in;
  Tensor out;
};

/// din = dout * gelu_tanh'(pre).   Shapes: all (n) act. Order: din may share dout's memory.
struct GeluBackward {
  ConstTensor pre, dout;
  Tensor din;
};

/// out = silu(gate) * up, silu(x) = x / (1 + exp(-x)).
/// Shapes: in (rows, 2F): a row's gates, then its ups; out (rows, F) act. Source: Shazeer,
/// arXiv:2002.05202.
struct SwiGlu {
  ConstTensor in;
  Tensor out;
};

/// Gradient of SwiGlu. Shapes: in, din (rows, 2F), dout (rows, F) act.   Order: din may share in's
/// memory.
struct SwiGluBackward {
  ConstTensor in, dout;
  Tensor din;
};

/// out = a + b.   Shapes: all (n), act or f32. Order: out may share a's or b's memory.
struct Add {
  ConstTensor a, b;
  Tensor out;
};

/// out = in, rounded to nearest (bf16: half away from zero; f16: half to even; denormals kept).
/// Either `in` or `out` is f32.   Shapes: both (n).
struct Cast {
  ConstTensor in;
  Tensor out;
};

}  // namespace ds
