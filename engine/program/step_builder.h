// What the parts of the pass "shard" share: the step that grows, and the few ways to add to it.
#pragma once

#include <memory>

#include "engine/program/passes.h"

namespace ds {

/// One flat f32 gradient of a group, with a view for every tensor and every gap between tensors.
struct FlatGradient {
  ValueId flat = kNoValue;
  std::vector<ValueId> tensors, gaps;
};

/// Memory that holds a partial sum. A view of staging is not owned: results go elsewhere, so that
/// staging, as long as all ranks' slices together, dies early.
struct Piece {
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
  /// Element at which each rank's slice of the group starts, and the end.
  [[nodiscard]] std::vector<std::int64_t> cuts(int g) const;
  /// Length of this rank's slice.
  [[nodiscard]] std::int64_t slice_elements(int g) const;

  FlatGradient make_gradient(int g, const std::string& suffix);
  ValueId make_slice(int g, const std::string& name);
  ValueId view(ValueId base, std::int64_t offset, Shape shape, const std::string& name);
  /// The group's reduced gradient: made at the first call; alone, it is the first leaf itself.
  const FlatGradient& reduced(int g);
  void set_reduced(int g, FlatGradient gradient);
  /// This rank's slice of reduced(g), as a view.
  ValueId reduced_slice(int g);

  void clear(int g, const FlatGradient& gradient);
  /// left += right, into left's memory if it is owned, else into a new slice.
  Piece add(int g, const Piece& left, const Piece& right);
  /// The group's last sum: lands in this rank's slice of the reduced gradient.
  Piece add_last(int g, const Piece& left, const Piece& right);
  /// Returns a view of staging for each contributor, in rank order.
  std::vector<ValueId> exchange(int g, ValueId root, std::vector<bool> contributes,
                                const std::string& suffix);
  void all_gather(int g);

 private:
  void emit_add(int g, ValueId left, ValueId right, ValueId out);

  std::vector<FlatGradient> reduced_;
  std::vector<ValueId> reduced_slices_;
  int made_ = 0;  // numbers names of temporaries
};

/// One backward pass's place in the step.
struct Turn {
  int virtual_rank = 0;  // -1: others run one now, this rank only takes part in the exchange
  int micro_step = 0;
  bool fresh = true;  // starts a leaf; false: adds to the turn before's
};

/// One order of reduction. Turns are asked for once, then the unrolled step reports each group as
/// its gradient is complete, turn by turn, in the same order on all ranks.
class Reduction {
 public:
  virtual ~Reduction() = default;
  [[nodiscard]] virtual const std::vector<Turn>& turns() const = 0;
  /// `leaf` is the gradient that the turn's backward pass made; kNoValue in a turn without one.
  virtual void on_complete(std::size_t turn, int g, ValueId leaf) = 0;
};

std::unique_ptr<Reduction> reduce_at_boundary(StepBuilder& step);
std::unique_ptr<Reduction> reduce_per_step(StepBuilder& step);

/// Gradient norm, control and optimizer: the end of every step.
void append_update(StepBuilder& step);

}  // namespace ds
