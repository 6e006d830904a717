// StepBuilder: names, views, adds and moves in the step that shard() builds.
#include "engine/program/step_builder.h"

#include <algorithm>

namespace ds {

StepBuilder::StepBuilder(const Program& differentiated, const ShardSpec& spec_)
    : spec(spec_),
      reduced_(differentiated.groups.size()),
      reduced_slices_(differentiated.groups.size(), kNoValue) {
  program.groups = differentiated.groups;
  program.extents = differentiated.extents;
}

bool StepBuilder::gathers_weights() const {
  return std::any_of(program.groups.begin(), program.groups.end(),
                     [&](const ParamGroup& group) { return splits_weights(group, spec); });
}

std::vector<OwnedPart> StepBuilder::owned(int g) const {
  return owned_by(program.groups[static_cast<std::size_t>(g)], spec, spec.rank);
}

FlatGradient StepBuilder::make_gradient(int g, const std::string& suffix) {
  const ParamGroup& of = group(g);
  FlatGradient made;
  made.flat = program.add_value({.name = of.name + ".grad" + suffix,
                                 .kind = ValueKind::gradient,
                                 .dtype = DType::f32,
                                 .shape = {of.elements}});
  for (std::size_t i = 0; i < of.tensors.size(); ++i) {
    const ParamTensor& tensor = of.tensors[i];
    made.tensors.push_back(
        view(made.flat, tensor.offset, tensor.shape, tensor.name + ".grad" + suffix));
    const std::int64_t end = tensor.offset + tensor.shape.elements();
    const std::int64_t next = i + 1 < of.tensors.size() ? of.tensors[i + 1].offset : of.elements;
    if (end < next)
      made.gaps.push_back(view(made.flat, end, {next - end}, tensor.name + ".gap" + suffix));
  }
  return made;
}

ValueId StepBuilder::make_slice(int g, const std::string& name) {
  return program.add_value({.name = name,
                            .kind = ValueKind::gradient,
                            .dtype = DType::f32,
                            .shape = {owned_elements(g)}});
}

ValueId StepBuilder::view(ValueId base, std::int64_t offset, const Shape& shape,
                          const std::string& name) {
  return add_view(program, base, offset, shape, name);
}

const FlatGradient& StepBuilder::reduced(int g) {
  FlatGradient& reduced = reduced_[static_cast<std::size_t>(g)];
  if (reduced.flat == kNoValue) set_reduced(g, make_gradient(g, ""));
  return reduced;
}

void StepBuilder::set_reduced(int g, FlatGradient gradient) {
  ParamGroup& of = group(g);
  of.gradient = gradient.flat;
  for (std::size_t i = 0; i < of.tensors.size(); ++i) of.tensors[i].gradient = gradient.tensors[i];
  reduced_[static_cast<std::size_t>(g)] = std::move(gradient);
}

ValueId StepBuilder::reduced_slice(int g) {
  ValueId& slice = reduced_slices_[static_cast<std::size_t>(g)];
  if (slice != kNoValue) return slice;
  const std::vector<OwnedPart> own = owned(g);
  if (splits_states()) {
    slice = make_slice(g, group(g).name + ".grad");
    group(g).gradient = slice;
    for (ParamTensor& tensor : group(g).tensors) tensor.gradient = kNoValue;
  } else if (own.size() > 1) {
    slice = make_slice(g, group(g).name + ".grad.own");
  } else {
    const OwnedPart part = own.empty() ? OwnedPart() : own.front();
    slice = view(reduced(g).flat, part.first, {part.elements}, group(g).name + ".grad.own");
  }
  return slice;
}

// Clears gaps: sums and the optimizer run over the flat memory, including what no kernel writes.
void StepBuilder::clear(int g, const FlatGradient& gradient) {
  if (gradient.gaps.empty()) return;
  program.ops.push_back({.attrs = ops::Clear{},
                         .path = "clear." + program.value(gradient.flat).name,
                         .out = gradient.gaps,
                         .group = g});
}

void StepBuilder::emit_add(int g, ValueId left, ValueId right, ValueId out, StreamId stream) {
  if (program.value(out).shape.elements() == 0) return;
  program.ops.push_back({.attrs = ops::Add{},
                         .path = fmt::format("reduce.{}.add{}", group(g).name, made_++),
                         .in = {left, right},
                         .out = {out},
                         .group = g,
                         .stream = stream});
}

PartialSum StepBuilder::add(int g, const PartialSum& left, const PartialSum& right,
                            StreamId stream) {
  ValueId out = left.value;
  if (!left.owned) out = make_slice(g, fmt::format("{}.grad.sum{}", group(g).name, made_++));
  emit_add(g, left.value, right.value, out, stream);
  return {out, true};
}

PartialSum StepBuilder::add_last(int g, const PartialSum& left, const PartialSum& right) {
  if (alone()) return add(g, left, right);
  emit_add(g, left.value, right.value, reduced_slice(g), reduce_stream());
  return {reduced_slice(g), true};
}

std::vector<ValueId> StepBuilder::exchange(int g, ValueId root,
                                           const std::vector<bool>& contributes,
                                           const std::string& suffix) {
  std::int64_t rows = 0;
  for (const bool one : contributes) rows += one ? 1 : 0;
  const std::int64_t length = owned_elements(g);
  const std::string name = group(g).name + ".staging" + suffix;
  const ValueId staging = program.add_value(
      {.name = name, .kind = ValueKind::gradient, .dtype = DType::f32, .shape = {rows, length}});
  for (CommAttrs& bucket : comms_of(group(g), spec)) {
    bucket.contributes = contributes;
    program.ops.push_back({.attrs = ops::Exchange{std::move(bucket)},
                           .path = fmt::format("exchange.{}{}", group(g).name, suffix),
                           .in = {root},
                           .out = {staging},
                           .group = g,
                           .stream = reduce_stream()});
  }
  std::vector<ValueId> views;
  for (std::int64_t row = 0; row < rows; ++row)
    views.push_back(view(staging, row * length, {length}, fmt::format("{}.row{}", name, row)));
  return views;
}

// At every stage each rank sums the leaves of its own slice, so the parts of the norm are the same.
void StepBuilder::finish_reduction(int g) {
  const std::int64_t leaves = owned_elements(g) / kLeaf;
  if (leaves > 0) {
    const std::string& name = group(g).name;
    const ValueId sums =
        program.add_value({.name = "norm.sums." + name, .dtype = DType::f64, .shape = {leaves}});
    const ValueId bad = program.add_value(
        {.name = "norm.non_finite." + name, .dtype = DType::i64, .shape = {leaves}});
    program.ops.push_back({.attrs = ops::LeafSquares{},
                           .path = "norm." + name,
                           .in = {reduced_slice(g)},
                           .out = {sums, bad},
                           .group = g,
                           .stream = reduce_stream()});
    norm_parts_.insert(norm_parts_.end(), {sums, bad});
  }
  if (alone() || splits_states()) return;
  const ValueId whole = reduced(g).flat, slice = reduced_slice(g);
  all_gather(g, program.value(slice).base == whole ? kNoValue : slice, whole,
             "gather." + group(g).name + ".grad", reduce_stream());
}

void StepBuilder::all_gather(int g, ValueId slice, ValueId full, const std::string& path,
                             StreamId stream) {
  for (CommAttrs& bucket : comms_of(group(g), spec)) {
    program.ops.push_back({.attrs = ops::AllGather{std::move(bucket)},
                           .path = path,
                           .in = {slice},
                           .out = {full},
                           .group = g,
                           .stream = stream});
  }
}

}  // namespace ds
