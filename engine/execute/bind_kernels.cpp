// Executor: binds ops to kernels.
#include "engine/execute/executor.h"

namespace ds {

Executor::Bound Executor::bind(const Op& op) {
  if (op.attrs.dropout.rate != 0) return bind_dropout(op);
  switch (op.code) {
    case OpCode::embed:
    case OpCode::layernorm:
    case OpCode::linear:
    case OpCode::gelu:
    case OpCode::attention:
    case OpCode::head_loss:
    case OpCode::add:
      return bind_forward(op);
    case OpCode::embed_backward:
    case OpCode::layernorm_backward:
    case OpCode::linear_backward_input:
    case OpCode::linear_backward_weight:
    case OpCode::gelu_backward:
    case OpCode::attention_backward:
    case OpCode::head_loss_backward:
      return bind_backward(op);
    case OpCode::rmsnorm:
    case OpCode::rmsnorm_backward:
    case OpCode::swiglu:
    case OpCode::swiglu_backward:
    case OpCode::rotary:
      return bind_gated(op);
    case OpCode::dropout:
      return bind_dropout(op);
    case OpCode::clear:
      return bind_clear(op);
    case OpCode::exchange:
      return bind_exchange(op);
    case OpCode::all_gather:
      return bind_all_gather(op);
    case OpCode::copy:
      return bind_copy(op);
    case OpCode::idle:
      return [](StepContext&) {};
    case OpCode::leaf_squares:
    case OpCode::control:
    case OpCode::update:
      return bind_step(op);
  }
  DS_ASSERT(false, "every op code must be bound");
  return {};
}

Executor::Bound Executor::bind_forward(const Op& op) {
  switch (op.code) {
    case OpCode::embed:
      return call(
          op, Embed{.tokens = in(op, 0), .wte = in(op, 1), .wpe = in(op, 2), .out = out(op, 0)});
    case OpCode::layernorm:
      return call(op, LayerNorm{.in = in(op, 0),
                                .delta = in(op, 1),
                                .weight = in(op, 2),
                                .bias = in(op, 3),
                                .sum = out(op, 0),
                                .out = out(op, 1),
                                .mean = out(op, 2),
                                .rstd = out(op, 3),
                                .eps = op.attrs.eps});
    case OpCode::linear:
      return call(op, Linear{.in = in(op, 0),
                             .weight = in(op, 1),
                             .bias = in(op, 2),
                             .out = out(op, 0),
                             .pre = out(op, 1),
                             .epilogue = op.attrs.epilogue,
                             .kv_heads = op.attrs.heads.kv_heads});
    case OpCode::gelu:
      return call(op, Gelu{.in = in(op, 0), .out = out(op, 0)});
    case OpCode::attention:
      return call(op, Attention{.qkv = in(op, 0),
                                .out = out(op, 0),
                                .lse = out(op, 1),
                                .kv_heads = op.attrs.heads.kv_heads});
    case OpCode::head_loss:
      return call(op, HeadLoss{.in = in(op, 0),
                               .weight = in(op, 1),
                               .targets = in(op, 2),
                               .loss = out(op, 0),
                               .count = out(op, 1),
                               .valid_vocab = op.attrs.valid_vocab,
                               .chunk_rows = op.attrs.chunk_rows});
    default:
      return call(op, Add{.a = in(op, 0), .b = in(op, 1), .out = out(op, 0)});
  }
}

Executor::Bound Executor::bind_backward(const Op& op) {
  const bool accumulate = op.attrs.accumulate;
  switch (op.code) {
    case OpCode::embed_backward:
      return call(op, EmbedBackward{.tokens = in(op, 0),
                                    .dout = in(op, 1),
                                    .dwte = out(op, 0),
                                    .dwpe = out(op, 1),
                                    .accumulate_wte = accumulate,
                                    .accumulate_wpe = op.attrs.accumulate2});
    case OpCode::layernorm_backward:
      return call(op, LayerNormBackward{.dout = in(op, 0),
                                        .in = in(op, 1),
                                        .weight = in(op, 2),
                                        .mean = in(op, 3),
                                        .rstd = in(op, 4),
                                        .dresidual = in(op, 5),
                                        .din = out(op, 0),
                                        .dweight = out(op, 1),
                                        .dbias = out(op, 2),
                                        .accumulate = accumulate});
    case OpCode::linear_backward_input:
      return call(op,
                  LinearBackwardInput{
                      .dout = in(op, 0), .weight = in(op, 1), .pre = in(op, 2), .din = out(op, 0)});
    case OpCode::linear_backward_weight:
      return call(op, LinearBackwardWeight{.in = in(op, 0),
                                           .dout = in(op, 1),
                                           .dweight = out(op, 0),
                                           .dbias = out(op, 1),
                                           .accumulate = accumulate});
    case OpCode::gelu_backward:
      return call(op, GeluBackward{.pre = in(op, 0), .dout = in(op, 1), .din = out(op, 0)});
    case OpCode::attention_backward:
      return call(op, AttentionBackward{.qkv = in(op, 0),
                                        .out = in(op, 1),
                                        .lse = in(op, 2),
                                        .dout = in(op, 3),
                                        .dqkv = out(op, 0),
                                        .kv_heads = op.attrs.heads.kv_heads});
    default: {
      const HeadLoss forward{.in = in(op, 0),
                             .weight = in(op, 1),
                             .targets = in(op, 2),
                             .loss = out(op, 0),
                             .count = out(op, 1),
                             .valid_vocab = op.attrs.valid_vocab,
                             .chunk_rows = op.attrs.chunk_rows};
      const HeadLossBackward args{
          .forward = forward, .din = out(op, 2), .dweight = out(op, 3), .accumulate = accumulate};
      Stream& stream = stream_of(op);
      return [this, args, &stream](StepContext& context) {
        HeadLossBackward now = args;
        now.loss_scale = context.loss_scale;
        kernels_.run(now, stream);
      };
    }
  }
}

// A skipped step changes nothing. Weights on their way to their tier are made from the unchanged
// master.
void Executor::keep_weights(const OptimizerUpdate& update, Stream& stream, Kernels& kernels) {
  if (!update.weights || !update.master) return;
  if (update.weights.dtype != DType::f32) {
    kernels.run(Cast{.in = update.master, .out = update.weights}, stream);
  } else {
    device_.copy(update.weights.data, update.master.data,
                 static_cast<std::size_t>(update.master.bytes()), stream);
  }
}

Executor::Bound Executor::bind_step(const Op& op) {
  if (op.code == OpCode::leaf_squares) {
    return call(op, LeafSquares{.in = in(op, 0), .sums = out(op, 0), .non_finite = out(op, 1)});
  }
  if (op.code == OpCode::control) {
    return [this](StepContext& context) {
      if (!device_.is_host()) {
        wait_for_device();
        at_.streams[0]->synchronize();
      }
      context.on_control(context);
    };
  }
  const bool is_split = op.attrs.update.split_master;
  const OptimizerUpdate args{.grad = in(op, 0),
                             .master = is_split ? Tensor{} : out(op, 0),
                             .m = out(op, 1),
                             .v = out(op, 2),
                             .weights = out(op, 3),
                             .low = is_split ? out(op, 0) : Tensor{},
                             .type = op.attrs.update.type,
                             .nesterov = op.attrs.update.nesterov};
  Stream& stream = stream_of(op);
  Kernels& kernels = kernels_of(op);
  return [this, args, &stream, &kernels](StepContext& context) {
    OptimizerUpdate now = args;
    const UpdateNumbers& u = context.update;
    if (u.skip) return keep_weights(now, stream, kernels);
    now.grad_scale = u.grad_scale;
    now.lr = u.lr;
    now.beta1 = u.beta1;
    now.beta2 = u.beta2;
    now.eps = u.eps;
    now.weight_decay = u.weight_decay;
    now.bias_correction1 = u.bias_correction1;
    now.bias_correction2 = u.bias_correction2;
    now.momentum = u.momentum;
    kernels.run(now, stream);
  };
}

}  // namespace ds
