// The pass differentiate(): appends the reverse of every op, last first. No tape; nothing happens
// at run time. Ops that would only make gradients of frozen weights, or of values below the first
// parameter that trains, are left out.
#include <algorithm>

#include "engine/program/gradients.h"
#include "engine/program/ops/row.h"
#include "engine/program/passes.h"

namespace ds {

Reverse::Reverse(Program& program, const Program& forward) : program_(program) {
  add_flat_gradients();
  find_wanted(forward);
  for (const Op& op : forward.ops) {
    for (const ValueId id : op.out) makers_[id] = &op;
    for (const ValueId id : op.in) ++readers_[id];
  }
}

void Reverse::add_flat_gradients() {
  for (ParamGroup& group : program_.groups) {
    if (!group.trains) continue;
    group.gradient = program_.add_value({.name = group.name + ".grad",
                                         .kind = ValueKind::gradient,
                                         .dtype = DType::f32,
                                         .shape = {group.elements},
                                         .micro = 0});
    for (ParamTensor& tensor : group.tensors) {
      tensor.gradient = program_.add_value({.name = tensor.name + ".grad",
                                            .kind = ValueKind::gradient,
                                            .dtype = DType::f32,
                                            .shape = tensor.shape,
                                            .micro = 0,
                                            .base = group.gradient,
                                            .offset = tensor.offset});
      parameters_[tensor.weights] = {tensor.gradient, false};
    }
  }
}

void Reverse::find_wanted(const Program& forward) {
  for (const auto& [weights, gradient] : parameters_) wanted_.insert(weights);
  for (const Op& op : forward.ops) {
    if (std::ranges::none_of(op.in, [&](ValueId id) { return wants(id); })) continue;
    for (const ValueId id : op.out)
      if (id != kNoValue) wanted_.insert(id);  // else ops with a missing operand were wanted, too
  }
}

ValueId Reverse::gradient_of(ValueId value) const {
  const auto found = gradients_.find(value);
  return found == gradients_.end() ? kNoValue : found->second;
}

void Reverse::contribute(ValueId value, ValueId gradient) {
  if (!wants(value)) return;
  const ValueId known = gradient_of(value);
  if (known == kNoValue) return replace(value, gradient);
  const std::string path = fmt::format("{}.grad.add{}", program_.value(value).name,
                                       // several sums of one value need different names
                                       program_.ops.size());
  const ValueId sum = activation(path, program_.value(known).dtype, program_.value(known).shape);
  program_.ops.push_back({.attrs = ops::Add{},
                          .path = path,
                          .micro = 0,
                          .in = {known, gradient},
                          .out = {sum},
                          .phase = Phase::backward});
  replace(value, sum);
}

Reverse::ParameterGradient Reverse::parameter(ValueId weights) {
  const auto found = parameters_.find(weights);
  if (found == parameters_.end()) return {};
  const ParameterGradient now = found->second;
  found->second.adds = true;
  return now;
}

ValueId Reverse::activation(std::string name, DType dtype, Shape shape) {
  return program_.add_value({.name = std::move(name),
                             .kind = ValueKind::activation,
                             .dtype = dtype,
                             .shape = shape,
                             .micro = 0});
}

ValueId Reverse::gradient_like(const Op& op, std::string_view operand, ValueId value) {
  const DType dtype = program_.value(value).dtype;
  const Shape shape = program_.value(value).shape;
  return activation(fmt::format("{}.grad.{}", op.path, operand), dtype, shape);
}

void Reverse::emit(const Op& op, std::string_view part, OpAttrs attrs, std::vector<ValueId> in,
                   std::vector<ValueId> out, std::initializer_list<bool> adds) {
  Op reverse{.attrs = std::move(attrs),
             .path = fmt::format("{}.grad{}", op.path, part),
             .micro = op.micro,
             .in = std::move(in),
             .out = std::move(out),
             .block = op.block,
             .phase = Phase::backward};
  std::uint32_t bit = 1;
  for (const bool one : adds) {
    if (one) reverse.adds |= bit;
    bit <<= 1U;
  }
  program_.ops.push_back(std::move(reverse));
}

Program differentiate(const Program& forward) {
  Program program = forward;
  std::erase_if(program.ops, [](const Op& op) { return row_of(op).is_loss; });
  Reverse reverse(program, forward);
  for (auto op = forward.ops.rbegin(); op != forward.ops.rend(); ++op) {
    const OpRow& row = row_of(*op);
    // Nothing that this op makes depends on a parameter that trains. The reverse of a loss computes
    // the loss too.
    const auto is_wanted = [&](ValueId id) { return reverse.wants(id); };
    if (!row.is_loss && std::ranges::none_of(op->out, is_wanted)) continue;
    DS_ASSERT(row.reverse != nullptr, "every op of a model must have a reverse");
    row.reverse(reverse, *op);
  }
  return program;
}

}  // namespace ds
