// append_update(): the control op, then the optimizer on this rank's part of each group.
#include "engine/program/decay.h"
#include "engine/program/step_builder.h"

namespace ds {
namespace {

ValueId add_state(StepBuilder& step, const ParamGroup& group, const char* name,
                  DType dtype = DType::f32) {
  return step.program.add_value({.name = group.name + name,
                                 .kind = ValueKind::state,
                                 .dtype = dtype,
                                 .shape = {group.state_elements},
                                 .persistent = true});
}

ValueId add_master(StepBuilder& step, const ParamGroup& group) {
  if (step.spec.update.split_master) return add_state(step, group, ".master_low", DType::i16);
  return add_state(step, group, ".master");
}

/// Returns the weights that this rank's part of the update writes.
ValueId updated_weights(StepBuilder& step, int g) {
  ParamGroup& group = step.group(g);
  if (splits_weights(group, step.spec)) {
    group.slice = add_weight_slice(step.program, group, step.spec);
    return group.slice;
  }
  if (!step.splits_states()) return group.weights;
  return step.view(group.weights, group.state_first, {group.state_elements},
                   group.name + ".weights.own");
}

void append_update_of(StepBuilder& step, int g) {
  ParamGroup& group = step.group(g);
  group.state_elements = group.elements;
  if (step.splits_states()) {
    group.state_first = step.cuts(g)[static_cast<std::size_t>(step.spec.rank)];
    group.state_elements = step.slice_elements(g);
  }
  const ValueId weights = updated_weights(step, g);
  const bool is_own_master =
      step.program.value(weights).dtype == DType::f32 && !step.spec.separate_master;
  if (group.state_elements > 0) {
    const StateTile all{.first = group.state_first,
                        .elements = group.state_elements,
                        .master = is_own_master ? weights : add_master(step, group),
                        .moment1 = add_state(step, group, ".moment1"),
                        .moment2 = step.spec.update.has_two_moments()
                                       ? add_state(step, group, ".moment2")
                                       : kNoValue};
    group.states = {all};
    UpdateAttrs update = step.spec.update;
    update.decay_cuts = decay_cuts(group, all.first, all.elements);
    step.program.ops.push_back(
        {.attrs = ops::Update{std::move(update)},
         .path = "update." + group.name,
         .in = {group.gradient, all.master, all.moment1, all.moment2,
                step.spec.update.split_master ? weights : kNoValue},
         .out = {all.master, all.moment1, all.moment2, is_own_master ? kNoValue : weights},
         .group = g});
  }
  if (step.splits_states() && !splits_weights(group, step.spec))
    step.all_gather(g, group.weights, "gather." + group.name, step.gather_stream());
}

}  // namespace

void append_update(StepBuilder& step) {
  step.program.ops.push_back({.attrs = ops::Control{}, .path = "control", .in = step.norm_parts()});
  for (int g = 0; g < step.groups(); ++g) append_update_of(step, g);
}

}  // namespace ds
