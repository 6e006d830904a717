// Binding of ops to kernels and collectives.
#include "engine/train/executor.h"

#include <utility>

#include "engine/comm/pieces.h"

namespace ds {
namespace {

std::span<std::byte> bytes_of(const Tensor& tensor) {
  if (!tensor) return {};
  return {static_cast<std::byte*>(tensor.data), static_cast<std::size_t>(tensor.bytes())};
}

}  // namespace

Executor::Executor(const Program& program, std::byte* arena, std::span<const std::int64_t> offsets,
                   Backend& backend, Group* world, Stream& stream)
    : program_(program),
      arena_(arena),
      offsets_(offsets.begin(), offsets.end()),
      device_(*backend.device),
      kernels_(*backend.kernels),
      world_(world),
      stream_(stream) {
  DS_ASSERT(offsets_.size() == program.values.size());
  bound_.reserve(program.ops.size());
  for (const Op& op : program.ops) bound_.push_back(bind(op));
}

void Executor::run(StepContext& context) {
  for (std::size_t index = 0; index < bound_.size(); ++index) {
    try {
      bound_[index](context);
    } catch (const Error& error) {
      throw error.with_context(program_.ops[index].path);
    }
    ++context.progress;
  }
}

Tensor Executor::tensor(ValueId id) const {
  if (id == kNoValue) return {};
  const Value& value = program_.value(id);
  return {arena_ + offsets_[static_cast<std::size_t>(id)], value.dtype, value.shape};
}

Tensor Executor::in(const Op& op, std::size_t index) const {
  return index < op.in.size() ? tensor(op.in[index]) : Tensor{};
}

Tensor Executor::out(const Op& op, std::size_t index) const {
  return index < op.out.size() ? tensor(op.out[index]) : Tensor{};
}

template <class Args>
Executor::Bound Executor::call(Args args) {
  return [this, args](StepContext&) { kernels_.run(args, stream_); };
}

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
    case OpCode::squared_sum:
    case OpCode::control:
    case OpCode::adamw:
      return bind_step(op);
  }
  DS_ASSERT(false, "every op code is bound");
  return {};
}

Executor::Bound Executor::bind_forward(const Op& op) {
  switch (op.code) {
    case OpCode::embed:
      return call(
          Embed{.tokens = in(op, 0), .wte = in(op, 1), .wpe = in(op, 2), .out = out(op, 0)});
    case OpCode::layernorm:
      return call(LayerNorm{.in = in(op, 0),
                            .delta = in(op, 1),
                            .weight = in(op, 2),
                            .bias = in(op, 3),
                            .sum = out(op, 0),
                            .out = out(op, 1),
                            .mean = out(op, 2),
                            .rstd = out(op, 3),
                            .eps = op.attrs.eps});
    case OpCode::linear:
      return call(Linear{.in = in(op, 0),
                         .weight = in(op, 1),
                         .bias = in(op, 2),
                         .out = out(op, 0),
                         .pre = out(op, 1),
                         .epilogue = op.attrs.epilogue});
    case OpCode::gelu:
      return call(Gelu{.in = in(op, 0), .out = out(op, 0)});
    case OpCode::attention:
      return call(Attention{.qkv = in(op, 0), .out = out(op, 0), .lse = out(op, 1)});
    case OpCode::head_loss:
      return call(HeadLoss{.in = in(op, 0),
                           .weight = in(op, 1),
                           .targets = in(op, 2),
                           .loss = out(op, 0),
                           .count = out(op, 1),
                           .valid_vocab = op.attrs.valid_vocab,
                           .chunk_rows = op.attrs.chunk_rows});
    default:
      return call(Add{.a = in(op, 0), .b = in(op, 1), .out = out(op, 0)});
  }
}

Executor::Bound Executor::bind_backward(const Op& op) {
  const bool accumulate = op.attrs.accumulate;
  switch (op.code) {
    case OpCode::embed_backward:
      return call(EmbedBackward{.tokens = in(op, 0),
                                .dout = in(op, 1),
                                .dwte = out(op, 0),
                                .dwpe = out(op, 1),
                                .accumulate_wte = accumulate,
                                .accumulate_wpe = op.attrs.accumulate2});
    case OpCode::layernorm_backward:
      return call(LayerNormBackward{.dout = in(op, 0),
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
      return call(LinearBackwardInput{.dout = in(op, 0), .weight = in(op, 1), .din = out(op, 0)});
    case OpCode::linear_backward_weight:
      return call(LinearBackwardWeight{.in = in(op, 0),
                                       .dout = in(op, 1),
                                       .dweight = out(op, 0),
                                       .dbias = out(op, 1),
                                       .accumulate = accumulate});
    case OpCode::gelu_backward:
      return call(GeluBackward{.pre = in(op, 0), .dout = in(op, 1), .din = out(op, 0)});
    case OpCode::attention_backward:
      return call(AttentionBackward{.qkv = in(op, 0),
                                    .out = in(op, 1),
                                    .lse = in(op, 2),
                                    .dout = in(op, 3),
                                    .dqkv = out(op, 0)});
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
      return [this, args](StepContext& context) {
        HeadLossBackward now = args;
        now.loss_scale = context.loss_scale;
        kernels_.run(now, stream_);
      };
    }
  }
}

Executor::Bound Executor::bind_step(const Op& op) {
  if (op.code == OpCode::squared_sum) {
    return call(SquaredSum{.in = in(op, 0), .sum = out(op, 0), .non_finite = out(op, 1)});
  }
  if (op.code == OpCode::control) {
    return [](StepContext& context) { context.on_control(context); };
  }
  const AdamWUpdate args{.grad = in(op, 0),
                         .master = out(op, 0),
                         .m = out(op, 1),
                         .v = out(op, 2),
                         .weights = out(op, 3)};
  return [this, args](StepContext& context) {
    AdamWUpdate now = args;
    const UpdateScalars& u = context.update;
    now.grad_scale = u.grad_scale;
    now.lr = u.lr;
    now.beta1 = u.beta1;
    now.beta2 = u.beta2;
    now.eps = u.eps;
    now.weight_decay = u.weight_decay;
    now.bias_correction1 = u.bias_correction1;
    now.bias_correction2 = u.bias_correction2;
    kernels_.run(now, stream_);
  };
}

Executor::Bound Executor::bind_clear(const Op& op) {
  std::vector<Tensor> cleared;
  for (const ValueId id : op.out) cleared.push_back(tensor(id));
  return [this, cleared = std::move(cleared)](StepContext&) {
    for (const Tensor& each : cleared) {
      device_.zero(each.data, static_cast<std::size_t>(each.bytes()), stream_);
    }
  };
}

Executor::Bound Executor::bind_copy(const Op& op) {
  const std::span<std::byte> from = bytes_of(in(op, 0)), to = bytes_of(out(op, 0));
  return
      [this, from, to](StepContext&) { device_.copy(to.data(), from.data(), to.size(), stream_); };
}

// Slices are cut from the root's own memory: nothing is packed or copied before sending.
Executor::Bound Executor::bind_exchange(const Op& op) {
  DS_ASSERT(world_ != nullptr, "programs with communication get a group");
  const CommAttrs& comm = op.attrs.comm;
  const auto ranks = static_cast<std::size_t>(world_->size());
  const auto me = static_cast<std::size_t>(world_->rank());
  DS_ASSERT(comm.cuts.size() == ranks + 1 && comm.contributes.size() == ranks);
  const auto slice_bytes = [&](std::size_t rank) {
    return static_cast<std::size_t>(comm.cuts[rank + 1] - comm.cuts[rank]) * sizeof(float);
  };
  std::vector<std::size_t> send(ranks, 0);
  std::vector<std::size_t> receive(ranks, 0);
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    if (comm.contributes[me]) send[peer] = slice_bytes(peer);
    if (comm.contributes[peer]) receive[peer] = slice_bytes(me);
  }
  const std::span<const std::byte> root =
      comm.contributes[me] ? bytes_of(in(op, 0)) : std::span<std::byte>{};
  return [this, path = op.path, from = cut_pieces(root, send),
          into = cut_pieces(bytes_of(out(op, 0)), receive)](StepContext& context) {
    stream_.synchronize();
    world_->about(path);
    world_->all_to_all(from, into, Deadline::after(context.comm_timeout));
  };
}

Executor::Bound Executor::bind_all_gather(const Op& op) {
  DS_ASSERT(world_ != nullptr, "programs with communication get a group");
  std::vector<std::size_t> bytes;
  for (std::size_t rank = 0; rank + 1 < op.attrs.comm.cuts.size(); ++rank) {
    bytes.push_back(
        static_cast<std::size_t>(op.attrs.comm.cuts[rank + 1] - op.attrs.comm.cuts[rank]) *
        sizeof(float));
  }
  return [this, path = op.path,
          pieces = cut_pieces(bytes_of(out(op, 0)), bytes)](StepContext& context) {
    stream_.synchronize();
    world_->about(path);
    world_->all_gather(pieces, Deadline::after(context.comm_timeout));
  };
}

}  // namespace ds
