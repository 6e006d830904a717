// for_each_tensor(): visits the tensors of every op, so that a test's op can run in other memory
// than its own.
#pragma once

#include "engine/kernels/kernels.h"

namespace ds::conformance {

/// Sizes of a heads tensor (HeadsLayout); batch = 0: not a heads tensor.
struct Heads {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, time = 0, depth = 0;
  [[nodiscard]] explicit operator bool() const { return batch != 0; }
};

/// Returns the sizes from a shape as Linear documents it: (3, B, H, T, D), or (1, B, H + 2G, T, D)
/// with G = kv_heads.
inline Heads heads_of(const Shape& shape, std::int64_t kv_heads) {
  DS_ASSERT(shape.axes() == 5);
  const bool alike = shape[0] == 3;
  const std::int64_t groups = alike ? shape[2] : kv_heads;
  return {.batch = shape[1],
          .heads = alike ? shape[2] : shape[2] - 2 * groups,
          .kv_heads = groups,
          .time = shape[3],
          .depth = shape[4]};
}

// Calls f(tensor) or f(tensor, Heads) for each; inputs are ConstTensor&, results Tensor&.
template <class F>
void for_each_tensor(Embed& a, const F& f) {
  f(a.tokens), f(a.wte), f(a.wpe), f(a.positions), f(a.out);
}
template <class F>
void for_each_tensor(EmbedBackward& a, const F& f) {
  f(a.tokens), f(a.dout), f(a.positions), f(a.dwte), f(a.dwpe);
}
template <class F>
void for_each_tensor(LayerNorm& a, const F& f) {
  f(a.in), f(a.delta), f(a.weight), f(a.bias), f(a.sum), f(a.out), f(a.mean), f(a.rstd);
}
template <class F>
void for_each_tensor(LayerNormBackward& a, const F& f) {
  f(a.dout), f(a.in), f(a.weight), f(a.mean), f(a.rstd), f(a.dresidual), f(a.din), f(a.dweight);
  f(a.dbias);
}
template <class F>
void for_each_tensor(RmsNorm& a, const F& f) {
  f(a.in), f(a.delta), f(a.weight), f(a.sum), f(a.out), f(a.rstd);
}
template <class F>
void for_each_tensor(RmsNormBackward& a, const F& f) {
  f(a.dout), f(a.in), f(a.weight), f(a.rstd), f(a.dresidual), f(a.din), f(a.dweight);
}
template <class F>
void for_each_tensor(HeadNorm& a, const F& f) {
  f(a.in, heads_of(a.in.shape, a.kv_heads)), f(a.q_weight), f(a.k_weight);
  f(a.out, heads_of(a.out.shape, a.kv_heads));
}
template <class F>
void for_each_tensor(HeadNormBackward& a, const F& f) {
  f(a.dout), f(a.in, heads_of(a.in.shape, a.kv_heads)), f(a.q_weight), f(a.k_weight), f(a.din);
  f(a.dq_weight), f(a.dk_weight);
}
template <class F>
void for_each_tensor(Linear& a, const F& f) {
  f(a.in), f(a.weight), f(a.bias), f(a.pre);
  if (a.epilogue == Linear::Epilogue::heads) {
    f(a.out, heads_of(a.out.shape, a.kv_heads));
  } else {
    f(a.out);
  }
}
template <class F>
void for_each_tensor(LinearBackwardInput& a, const F& f) {
  f(a.dout), f(a.weight), f(a.pre), f(a.din);
}
template <class F>
void for_each_tensor(LinearBackwardWeight& a, const F& f) {
  f(a.in), f(a.dout), f(a.dweight), f(a.dbias);
}
template <class F>
void for_each_tensor(AddColumns& a, const F& f) {
  for (AddColumns::Part& part : a.parts) f(part.delta);
  if (a.heads) {
    f(a.in, heads_of(a.in.shape, a.kv_heads)), f(a.out, heads_of(a.out.shape, a.kv_heads));
  } else {
    f(a.in), f(a.out);
  }
}
template <class F>
void for_each_tensor(TakeColumns& a, const F& f) {
  f(a.in), f(a.out);
}
template <class F>
void for_each_tensor(Activate& a, const F& f) {
  f(a.in), f(a.out);
}
template <class F>
void for_each_tensor(ActivateBackward& a, const F& f) {
  f(a.pre), f(a.dout), f(a.din);
}
template <class F>
void for_each_tensor(Glu& a, const F& f) {
  f(a.in), f(a.out);
}
template <class F>
void for_each_tensor(GluBackward& a, const F& f) {
  f(a.in), f(a.dout), f(a.din);
}
template <class F>
void for_each_tensor(Rotary& a, const F& f) {
  f(a.positions);
  if (a.rows) {
    f(a.in), f(a.out);
  } else {
    f(a.in, heads_of(a.in.shape, a.kv_heads)), f(a.out, heads_of(a.out.shape, a.kv_heads));
  }
}
template <class F>
void for_each_tensor(RelativeBias& a, const F& f) {
  f(a.table), f(a.first), f(a.out);
}
template <class F>
void for_each_tensor(RelativeBiasBackward& a, const F& f) {
  f(a.dout), f(a.dtable);
}
template <class F>
void for_each_tensor(KeyRanges& a, const F& f) {
  f(a.documents), f(a.key_documents), f(a.ranges);
}
template <class F>
void for_each_tensor(Dropout& a, const F& f) {
  f(a.in), f(a.draw.samples), f(a.out);
}
template <class Op, class F>
void for_each_heads(Op& a, const F& f) {
  f(a.qkv, heads_of(a.qkv.shape, a.kv ? 0 : a.kv_heads));
  if (a.kv) f(a.kv, heads_of(a.kv.shape, a.kv.shape[2] / 2));
}
template <class F>
void for_each_tensor(Attention& a, const F& f) {
  for_each_heads(a, f), f(a.ranges), f(a.bias), f(a.out), f(a.lse), f(a.dropout.samples);
}
template <class F>
void for_each_tensor(AttentionBackward& a, const F& f) {
  for_each_heads(a, f), f(a.ranges), f(a.bias), f(a.out), f(a.lse);
  f(a.dout), f(a.dqkv), f(a.dkv), f(a.dbias), f(a.dropout.samples);
}
template <class F>
void for_each_tensor(CacheKeys& a, const F& f) {
  f(a.qkv, heads_of(a.qkv.shape, a.kv_heads)), f(a.slots);
  f(a.queries, heads_of(a.queries.shape, 0));
  f(a.cache, heads_of(a.cache.shape, a.cache.shape[2] / 2));
}
template <class F>
void for_each_tensor(HeadLoss& a, const F& f) {
  f(a.in), f(a.weight), f(a.targets), f(a.bias), f(a.loss), f(a.count);
}
template <class F>
void for_each_tensor(HeadLossBackward& a, const F& f) {
  for_each_tensor(a.forward, f), f(a.din), f(a.dweight), f(a.dbias);
}
template <class F>
void for_each_tensor(Logits& a, const F& f) {
  f(a.in), f(a.weight), f(a.bias), f(a.out);
}
template <class F>
void for_each_tensor(Add& a, const F& f) {
  f(a.a), f(a.b), f(a.out);
}
template <class F>
void for_each_tensor(LeafSquares& a, const F& f) {
  f(a.in), f(a.sums), f(a.non_finite);
}
template <class F>
void for_each_tensor(OptimizerUpdate& a, const F& f) {
  f(a.grad), f(a.master), f(a.m), f(a.v), f(a.weights), f(a.low);
}
template <class F>
void for_each_tensor(FillNormal& a, const F& f) {
  f(a.out);
}
template <class F>
void for_each_tensor(Cast& a, const F& f) {
  f(a.in), f(a.out);
}

}  // namespace ds::conformance
