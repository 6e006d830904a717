// append_update(): the control op, then the optimizer on this rank's part of each group.
#include "engine/program/decay.h"
#include "engine/program/step_builder.h"

namespace ds {
namespace {

/// The update of one part of a group.
class PartUpdate {
 public:
  PartUpdate(StepBuilder& step, int g, std::size_t number)
      : step_(step),
        g_(g),
        part_(step.group(g).own[number]),
        name_(step.group(g).name + (number == 0 ? "" : fmt::format(".part{}", number))) {}

  void append() {
    ParamGroup& group = step_.group(g_);
    const bool is_slice = group.slice != kNoValue;
    const ValueId weights = is_slice ? part_of(group.slice, part_.at, ".weights.own")
                                     : part_of(group.weights, part_.first, ".weights.own");
    const bool is_own_master =
        step_.program.value(weights).dtype == DType::f32 && !step_.spec.separate_master;
    const UpdateAttrs& rule = step_.spec.update;
    const StateTile tile{.first = part_.first,
                         .elements = part_.elements,
                         .master = is_own_master ? weights : add_master(),
                         .moment1 = add_state(".moment1"),
                         .moment2 = rule.has_two_moments() ? add_state(".moment2") : kNoValue};
    group.states.push_back(tile);
    UpdateAttrs update = rule;
    update.decay_cuts = decay_cuts(group, tile.first, tile.elements);
    step_.program.ops.push_back(
        {.attrs = ops::Update{std::move(update)},
         .path = "update." + name_,
         .in = {part_of(group.gradient, part_.at, ".grad.part"), tile.master, tile.moment1,
                tile.moment2, rule.split_master ? weights : kNoValue},
         .out = {tile.master, tile.moment1, tile.moment2, is_own_master ? kNoValue : weights},
         .group = g_});
  }

 private:
  ValueId add_state(const char* name, DType dtype = DType::f32) {
    return step_.program.add_value({.name = name_ + name,
                                    .kind = ValueKind::state,
                                    .dtype = dtype,
                                    .shape = {part_.elements},
                                    .persistent = true});
  }

  ValueId add_master() {
    if (step_.spec.update.split_master) return add_state(".master_low", DType::i16);
    return add_state(".master");
  }

  /// Returns the part of a flat value that begins at `first`: the value itself if that is all of
  /// it.
  ValueId part_of(ValueId flat, std::int64_t first, const char* name) {
    if (step_.program.value(flat).shape.elements() == part_.elements) return flat;
    return step_.view(flat, first, {part_.elements}, name_ + name);
  }

  StepBuilder& step_;
  int g_;
  OwnedPart part_;
  std::string name_;  // of the part
};

/// Adds views of what this rank saves of a frozen group.
void keep_frozen(StepBuilder& step, ParamGroup& group) {
  for (const OwnedPart& part : group.own) {
    const bool is_slice = group.slice != kNoValue;
    const ValueId flat = is_slice ? group.slice : group.weights;
    const bool is_all = step.program.value(flat).shape.elements() == part.elements;
    const std::string name = fmt::format("{}.kept{}", group.name, group.states.size());
    const ValueId kept =
        is_all ? flat : step.view(flat, is_slice ? part.at : part.first, {part.elements}, name);
    group.states.push_back({.first = part.first, .elements = part.elements, .master = kept});
  }
}

void append_update_of(StepBuilder& step, int g) {
  ParamGroup& group = step.group(g);
  const bool splits = step.splits_states(), splits_slices = splits_weights(group, step.spec);
  group.own = splits ? step.owned(g) : std::vector<OwnedPart>{{.elements = group.elements}};
  if (splits_slices) group.slice = add_weight_slice(step.program, group, step.spec);
  if (!group.trains) return keep_frozen(step, group);
  for (std::size_t part = 0; part < group.own.size(); ++part) PartUpdate(step, g, part).append();
  if (splits && !splits_slices)
    step.all_gather(g, kNoValue, group.weights, "gather." + group.name, step.gather_stream());
}

}  // namespace

void append_update(StepBuilder& step) {
  step.program.ops.push_back({.attrs = ops::Control{}, .path = "control", .in = step.norm_parts()});
  for (int g = 0; g < step.groups(); ++g) append_update_of(step, g);
}

}  // namespace ds
