// The end of the step: gradient norm by logical tensor, control, AdamW by group.
#include "engine/program/step_builder.h"

namespace ds {
namespace {

void append_norm_and_control(StepBuilder& step) {
  Program& program = step.program;
  std::int64_t tensors = 0;
  for (const ParamGroup& group : program.groups)
    tensors += static_cast<std::int64_t>(group.tensors.size());
  const auto make = [&](const char* name, DType dtype) {
    return program.add_value(
        {.name = name, .kind = ValueKind::activation, .dtype = dtype, .shape = {tensors}});
  };
  const ValueId sums = make("norm.sums", DType::f64);
  const ValueId non_finite = make("norm.non_finite", DType::i64);
  std::int64_t index = 0;
  for (int g = 0; g < step.groups(); ++g) {
    for (const ParamTensor& tensor : step.group(g).tensors) {
      const ValueId sum = step.view(sums, index, {1}, tensor.name + ".sum");
      const ValueId bad = step.view(non_finite, index, {1}, tensor.name + ".non_finite");
      program.ops.push_back({.code = OpCode::squared_sum,
                             .path = "norm." + tensor.name,
                             .in = {tensor.gradient},
                             .out = {sum, bad},
                             .attrs = {.group = g}});
      ++index;
    }
  }
  program.ops.push_back({.code = OpCode::control, .path = "control", .in = {sums, non_finite}});
}

ValueId add_state(StepBuilder& step, const ParamGroup& group, const char* name) {
  return step.program.add_value({.name = group.name + name,
                                 .kind = ValueKind::state,
                                 .dtype = DType::f32,
                                 .shape = {group.elements},
                                 .persistent = true});
}

void append_adamw(StepBuilder& step, int g) {
  ParamGroup& group = step.group(g);
  const bool is_own_master = step.program.value(group.weights).dtype == DType::f32;
  group.master = is_own_master ? group.weights : add_state(step, group, ".master");
  group.moment1 = add_state(step, group, ".moment1");
  group.moment2 = add_state(step, group, ".moment2");
  const ValueId weights = is_own_master ? kNoValue : group.weights;
  step.program.ops.push_back({.code = OpCode::adamw,
                              .path = "adamw." + group.name,
                              .in = {group.gradient, group.master, group.moment1, group.moment2},
                              .out = {group.master, group.moment1, group.moment2, weights},
                              .attrs = {.group = g}});
}

}  // namespace

void append_update(StepBuilder& step) {
  append_norm_and_control(step);
  for (int g = 0; g < step.groups(); ++g) append_adamw(step, g);
}

}  // namespace ds
