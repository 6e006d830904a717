// StepBuilder and Reduction: shared parts of the pass shard().
#pragma once

#include <memory>

#include "engine/program/passes.h"
#include "engine/program/slices.h"

namespace ds {

/// One flat f32 gradient of a group, with a view of every tensor and every gap between tensors.
struct FlatGradient {
  ValueId flat = kNoValue;
  std::vector<ValueId> tensors, gaps;
};

/// Memory that holds a partial sum. A view of staging is not owned: results go elsewhere, so that
/// staging, which is as long as all ranks' slices together, dies early.
struct PartialSum {
  ValueId value = kNoValue;
  bool owned = false;
};

/// The step of one rank while passes add to it.
class StepBuilder {
 public:
  StepBuilder(const Program& differentiated, const ShardSpec& spec);

  Program program;
  const ShardSpec& spec;

  [[nodiscard]] int groups() const { return static_cast<int>(program.groups.size()); }
  [[nodiscard]] ParamGroup& group(int g) { return program.groups[static_cast<std::size_t>(g)]; }
  [[nodiscard]] bool alone() const { return spec.world_size == 1; }
  /// Whether this rank keeps only its slice of the states (stage 1). Then it also keeps only its
  /// slice of the reduced gradient (at stage 1 too: no rank needs it whole).
  [[nodiscard]] bool splits_states() const { return !alone() && spec.stage >= 1; }
  /// Returns whether some group's weights are gathered for their uses, in which all ranks take
  /// part.
  [[nodiscard]] bool gathers_weights() const;
  [[nodiscard]] StreamId reduce_stream() const {
    return spec.overlap && !alone() ? StreamId::reduce : StreamId::compute;
  }
  [[nodiscard]] StreamId gather_stream() const {
    return spec.overlap && !alone() ? StreamId::gather : StreamId::compute;
  }
  /// Returns what this rank owns of the group, and the length of its slice.
  [[nodiscard]] std::vector<OwnedPart> owned(int g) const;
  [[nodiscard]] std::int64_t owned_elements(int g) const { return slice_elements(owned(g)); }

  FlatGradient make_gradient(int g, const std::string& suffix);
  ValueId make_slice(int g, const std::string& name);
  ValueId view(ValueId base, std::int64_t offset, const Shape& shape, const std::string& name);
  /// Returns the group's reduced gradient, made at the first call. In a world of one rank it is the
  /// first leaf itself.
  const FlatGradient& reduced(int g);
  void set_reduced(int g, FlatGradient gradient);
  /// Returns this rank's slice of the reduced gradient: all there is of it when states are split.
  ValueId reduced_slice(int g);

  void clear(int g, const FlatGradient& gradient);
  /// Emits left += right, into left's memory if that is owned, else into a new slice. Sums of other
  /// ranks' contributions run on the reduce stream.
  PartialSum add(int g, const PartialSum& left, const PartialSum& right,
                 StreamId stream = StreamId::compute);
  /// Emits the group's last sum, into this rank's slice of the reduced gradient.
  PartialSum add_last(int g, const PartialSum& left, const PartialSum& right);
  /// Emits the exchange. Returns a view of staging for each contributor, in rank order.
  std::vector<ValueId> exchange(int g, ValueId root, const std::vector<bool>& contributes,
                                const std::string& suffix);
  /// Ends the reduction of a group: computes its norm and, where states are not split, gathers the
  /// whole gradient on all ranks.
  void finish_reduction(int g);
  /// Emits the gather of `full`. `slice` may be kNoValue: then `full` already holds this rank's
  /// pieces.
  void all_gather(int g, ValueId slice, ValueId full, const std::string& path, StreamId stream);
  /// Values that finish_reduction() made, in pairs: sums, and counts of elements that are not
  /// finite.
  [[nodiscard]] const std::vector<ValueId>& norm_parts() const { return norm_parts_; }

 private:
  void emit_add(int g, ValueId left, ValueId right, ValueId out, StreamId stream);

  std::vector<FlatGradient> reduced_;
  std::vector<ValueId> reduced_slices_;
  std::vector<ValueId> norm_parts_;
  int made_ = 0;  // makes names of temporaries unique
};

/// One backward pass in the step.
struct Turn {
  // -1: idle; other ranks run a pass, and this one only takes part in the exchange
  int virtual_rank = 0;
  int micro_step = 0;
  bool fresh = true;  // starts a leaf; false: adds to the previous turn's leaf
};

/// One order of reduction. The step reads the turns once, then reports each group when its gradient
/// is complete, turn by turn, in the same order on all ranks.
class Reduction {
 public:
  virtual ~Reduction() = default;
  [[nodiscard]] virtual const std::vector<Turn>& turns() const = 0;
  /// `leaf` is the gradient that the turn's backward pass made; kNoValue in an idle turn.
  virtual void on_complete(std::size_t turn, int g, ValueId leaf) = 0;
};

std::unique_ptr<Reduction> reduce_at_boundary(StepBuilder& step);
std::unique_ptr<Reduction> reduce_per_step(StepBuilder& step);

/// Appends gradient norm, control and optimizer: the end of every step.
void append_update(StepBuilder& step);

}  // namespace ds
