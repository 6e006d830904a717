// Executor: binds the ops that Llama has and GPT-2 does not: RMS norm, SwiGLU, rotary embedding.
#include "engine/execute/executor.h"

namespace ds {

Executor::Bound Executor::bind_gated(const Op& op) {
  switch (op.code) {
    case OpCode::rmsnorm:
      return call(op, RmsNorm{.in = in(op, 0),
                              .delta = in(op, 1),
                              .weight = in(op, 2),
                              .sum = out(op, 0),
                              .out = out(op, 1),
                              .rstd = out(op, 2),
                              .eps = op.attrs.eps});
    case OpCode::rmsnorm_backward:
      return call(op, RmsNormBackward{.dout = in(op, 0),
                                      .in = in(op, 1),
                                      .weight = in(op, 2),
                                      .rstd = in(op, 3),
                                      .dresidual = in(op, 4),
                                      .din = out(op, 0),
                                      .dweight = out(op, 1),
                                      .accumulate = op.attrs.accumulate});
    case OpCode::swiglu:
      return call(op, SwiGlu{.in = in(op, 0), .out = out(op, 0)});
    case OpCode::swiglu_backward:
      return call(op, SwiGluBackward{.in = in(op, 0), .dout = in(op, 1), .din = out(op, 0)});
    default: {
      const HeadsAttrs& heads = op.attrs.heads;
      return call(op, Rotary{.in = in(op, 0),
                             .out = out(op, 0),
                             .seq_len = program_.extents.seq_len,
                             .heads = heads.heads,
                             .kv_heads = heads.kv_heads,
                             .theta = heads.theta,
                             .inverse = heads.inverse,
                             .rows = heads.rows});
    }
  }
}

}  // namespace ds
