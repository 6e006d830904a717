// print(): programs as text, one line per group, tensor, value and op.
#include <fmt/ranges.h>

#include <array>

#include "engine/program/passes.h"

namespace ds {
namespace {

std::string_view name_of(ValueKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"parameter", "gradient", "activation", "state",
                                                   "input"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(OpCode code) {
  constexpr std::array<std::string_view, 28> kNames{"embed",
                                                    "embed_backward",
                                                    "layernorm",
                                                    "layernorm_backward",
                                                    "rmsnorm",
                                                    "rmsnorm_backward",
                                                    "linear",
                                                    "linear_backward_input",
                                                    "linear_backward_weight",
                                                    "gelu",
                                                    "gelu_backward",
                                                    "swiglu",
                                                    "swiglu_backward",
                                                    "dropout",
                                                    "rotary",
                                                    "attention",
                                                    "attention_backward",
                                                    "head_loss",
                                                    "head_loss_backward",
                                                    "add",
                                                    "exchange",
                                                    "all_gather",
                                                    "copy",
                                                    "idle",
                                                    "leaf_squares",
                                                    "control",
                                                    "update",
                                                    "clear"};
  static_assert(kNames.size() == static_cast<std::size_t>(OpCode::clear) + 1);
  return kNames[static_cast<std::size_t>(code)];
}

std::string_view name_of(Tier tier) {
  constexpr std::array<std::string_view, kTiers> kNames{"device", "pinned", "host", "nvme"};
  return kNames[static_cast<std::size_t>(tier)];
}

std::string_view name_of(StreamId stream) { return kStreamNames[static_cast<std::size_t>(stream)]; }

std::string text_of(const Shape& shape) {
  std::string text = "(";
  for (int axis = 0; axis < shape.axes(); ++axis)
    text += fmt::format("{}{}", axis == 0 ? "" : ", ", shape[axis]);
  return text + ")";
}

std::string text_of(const ParamInit& init) {
  switch (init.kind) {
    case ParamInit::Kind::zeros:
      return "zeros";
    case ParamInit::Kind::ones:
      return "ones";
    case ParamInit::Kind::normal:
      return fmt::format("normal({})", init.standard_deviation);
  }
  return {};
}

std::string text_of(const Program& program, const std::vector<ValueId>& ids) {
  std::string text;
  for (const ValueId id : ids)
    text += fmt::format(" {}", id == kNoValue ? "-" : program.value(id).name);
  return text;
}

// Prints only what differs from the default, so that lines stay readable.
std::string text_of(const OpAttrs& attrs) {
  std::string text;
  if (attrs.accumulate) text += " accumulate";
  if (attrs.accumulate2) text += " accumulate2";
  if (attrs.epilogue == Linear::Epilogue::gelu) text += " gelu";
  if (attrs.epilogue == Linear::Epilogue::heads) text += " heads";
  if (attrs.eps != OpAttrs{}.eps) text += fmt::format(" eps={}", attrs.eps);
  if (attrs.valid_vocab != 0) text += fmt::format(" valid_vocab={}", attrs.valid_vocab);
  if (attrs.chunk_rows != 0) text += fmt::format(" chunk_rows={}", attrs.chunk_rows);
  if (attrs.dropout.rate != 0)
    text += fmt::format(" dropout={} key={:016x}", attrs.dropout.rate, attrs.dropout.key);
  if (attrs.heads.heads != 0) text += fmt::format(" q={}", attrs.heads.heads);
  if (attrs.heads.kv_heads != 0) text += fmt::format(" kv={}", attrs.heads.kv_heads);
  if (attrs.heads.theta != 0) text += fmt::format(" theta={}", attrs.heads.theta);
  if (attrs.heads.inverse) text += " inverse";
  if (attrs.heads.rows) text += " rows";
  if (attrs.update.type != OptimizerUpdate::Type::adamw) {
    constexpr std::array<std::string_view, 4> kUpdates{"adamw", "adam_l2", "sgd", "lion"};
    text += fmt::format(" {}{}", kUpdates[static_cast<std::size_t>(attrs.update.type)],
                        attrs.update.nesterov ? " nesterov" : "");
  }
  if (attrs.update.split_master) text += " split";
  if (!attrs.comm.cuts.empty()) text += fmt::format(" cuts={}", fmt::join(attrs.comm.cuts, ","));
  if (attrs.comm.length != INT64_MAX)
    text += fmt::format(" bucket={}+{}", attrs.comm.from, attrs.comm.length);
  if (!attrs.comm.contributes.empty()) {
    text += " from=";
    for (const bool one : attrs.comm.contributes) text += one ? '1' : '0';
  }
  return text;
}

std::string line_of(const Program& program, const Value& value) {
  std::string line = fmt::format("value {} {} {} {}", value.name, name_of(value.kind),
                                 ds::name_of(value.dtype), text_of(value.shape));
  if (value.base != kNoValue)
    line += fmt::format(" in {} at {}", program.value(value.base).name, value.offset);
  if (value.persistent) line += " persistent";
  if (value.tier != Tier::device) line += fmt::format(" on {}", name_of(value.tier));
  return line + "\n";
}

}  // namespace

std::string print(const Program& program) {
  std::string text;
  for (const ParamGroup& group : program.groups) {
    text += fmt::format("group {} {} elements\n", group.name, group.elements);
    for (const ParamTensor& tensor : group.tensors) {
      text += fmt::format("  tensor {} {} at {} {}\n", tensor.name, text_of(tensor.shape),
                          tensor.offset, text_of(tensor.init));
    }
  }
  for (const Value& value : program.values) text += line_of(program, value);
  for (const Op& op : program.ops) {
    const std::string micro = op.micro < 0 ? std::string() : fmt::format("@{}", op.micro);
    const bool is_plain = op.stream == StreamId::compute;
    text += fmt::format("op {}{} {}{} ->{}{}{}{}\n", op.path, micro, name_of(op.code),
                        text_of(program, op.in), text_of(program, op.out), text_of(op.attrs),
                        is_plain ? "" : " on ", is_plain ? "" : name_of(op.stream));
  }
  return text;
}

}  // namespace ds
