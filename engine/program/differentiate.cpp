// The pass differentiate(): appends the reverse of every op, last first. No tape; nothing happens
// at run time.
#include "engine/program/gradients.h"
#include "engine/program/passes.h"

namespace ds {

Reverse::Reverse(Program& program, const Program& forward) : program_(program) {
  add_flat_gradients();
  find_gelus(forward);
}

void Reverse::find_gelus(const Program& forward) {
  for (const Op& op : forward.ops) {
    if (op.code == OpCode::linear && op.attrs.epilogue == Linear::Epilogue::gelu)
      gelu_arguments_[op.out[0]] = op.out[1];
  }
  std::map<ValueId, int> readers;
  for (const Op& op : forward.ops) {
    for (const ValueId id : op.in) {
      const bool fits = op.code == OpCode::linear && id == op.in[0];
      if (++readers[id] > 1 || !fits) gelu_arguments_.erase(id);
    }
  }
}

void Reverse::add_flat_gradients() {
  for (ParamGroup& group : program_.groups) {
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

ValueId Reverse::gradient_of(ValueId value) const {
  const auto found = gradients_.find(value);
  return found == gradients_.end() ? kNoValue : found->second;
}

void Reverse::contribute(ValueId value, ValueId gradient) {
  const ValueId known = gradient_of(value);
  if (known == kNoValue) return replace(value, gradient);
  const std::string path = fmt::format("{}.grad.add{}", program_.value(value).name,
                                       // several sums of one value need different names
                                       program_.ops.size());
  const ValueId sum = activation(path, program_.value(known).dtype, program_.value(known).shape);
  emit({.code = OpCode::add, .path = path, .micro = 0, .in = {known, gradient}, .out = {sum}});
  replace(value, sum);
}

Reverse::ParameterGradient Reverse::parameter(ValueId weights) {
  const auto found = parameters_.find(weights);
  DS_ASSERT(found != parameters_.end(), "not a parameter");
  const ParameterGradient now = found->second;
  found->second.accumulate = true;
  return now;
}

ValueId Reverse::activation(std::string name, DType dtype, Shape shape) {
  return program_.add_value({.name = std::move(name),
                             .kind = ValueKind::activation,
                             .dtype = dtype,
                             .shape = shape,
                             .micro = 0});
}

Program differentiate(const Program& forward) {
  Program program = forward;
  const auto is_loss = [](const Op& op) { return op.code == OpCode::head_loss; };
  std::erase_if(program.ops, is_loss);  // head_loss_backward computes the loss too
  Reverse reverse(program, forward);
  for (auto op = forward.ops.rbegin(); op != forward.ops.rend(); ++op) emit_reverse(reverse, *op);
  return program;
}

}  // namespace ds
