// Linear layer ops: forward, input gradient, weight and bias gradients. Letters as in kernels.h.
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.h"

namespace ds {

/// Memory layout of the queries, keys and values of all heads. The backend chooses it
/// (Kernels::heads_layout()), and all its kernels that access "heads" memory use the same one.
/// by_head: q (B, H, T, D), then k (B, G, T, D), then v (B, G, T, D).
/// by_row:  (B*T, (H + 2G) * D): a row's queries, then keys, then values.
enum class HeadsLayout : std::uint8_t { by_head, by_row };

/// out = in * weight + bias (if given), then the epilogue.
/// Shapes: in (rows, K), weight (K, N), bias (N) act. Epilogue none: out (rows, N).
///         gelu: pre (rows, N) = the product with bias, out = gelu_tanh(pre).
///         heads: out holds N = (H + 2G) * D columns in the backend's HeadsLayout; its shape is
///         (3, B, H, T, D) where G = H, else (1, B, H + 2G, T, D) with kv_heads = G. For
///         cross-attention: queries alone (G = 0), or keys and values alone (H = 0).
struct Linear {
  enum class Epilogue : std::uint8_t { none, gelu, heads };
  ConstTensor in, weight, bias{};
  Tensor out, pre{};
  Epilogue epilogue = Epilogue::none;
  std::int64_t kv_heads = 0;  // G, for heads of shape (1, ...)
};

/// din = dout * weight^T; with `pre`, times gelu_tanh'(pre) before the product is rounded.
/// Shapes: dout (rows, N), weight (K, N), din, pre (rows, K) act.
struct LinearBackwardInput {
  ConstTensor dout, weight, pre{};
  Tensor din;
};

/// dweight (+)= in^T * dout; dbias (+)= column sums of dout.
/// Shapes: in (rows, K), dout (rows, N) act; dweight (K, N), dbias (N) f32.
struct LinearBackwardWeight {
  ConstTensor in, dout;
  Tensor dweight, dbias{};
  bool accumulate = false;
};

}  // namespace ds
