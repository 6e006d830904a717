// Executor: binds the ops that draw random numbers, whose keys change from step to step.
#include "engine/execute/executor.h"

namespace ds {

Executor::Bound Executor::bind_dropout(const Op& op) {
  const bool is_backward = op.code == OpCode::attention_backward;
  const DropoutDraw draw{.samples = in(op, is_backward ? 4 : 1),
                         .rate = op.attrs.dropout.rate,
                         .key = op.attrs.dropout.key};
  Stream& stream = stream_of(op);
  const auto with_draw = [this, &stream](auto args, DropoutDraw decltype(args)::*member) -> Bound {
    return [this, &stream, args, member](StepContext& context) {
      auto now = args;
      (now.*member).seed = context.seed;
      (now.*member).step = context.step;
      kernels_.run(now, stream);
    };
  };
  if (op.code == OpCode::dropout) {
    return with_draw(Dropout{.in = in(op, 0), .draw = draw, .out = out(op, 0)}, &Dropout::draw);
  }
  if (op.code == OpCode::attention) {
    return with_draw(Attention{.qkv = in(op, 0),
                               .out = out(op, 0),
                               .lse = out(op, 1),
                               .dropout = draw,
                               .kv_heads = op.attrs.heads.kv_heads},
                     &Attention::dropout);
  }
  return with_draw(AttentionBackward{.qkv = in(op, 0),
                                     .out = in(op, 1),
                                     .lse = in(op, 2),
                                     .dout = in(op, 3),
                                     .dqkv = out(op, 0),
                                     .dropout = draw,
                                     .kv_heads = op.attrs.heads.kv_heads},
                   &AttentionBackward::dropout);
}

}  // namespace ds
