// The three programs of a training job, from config and rank: the step, the validation pass, the
// sampling trunk.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/config/train_config.h"
#include "engine/kernels/kernels.h"
#include "engine/program/offload.h"
#include "engine/program/passes.h"

namespace ds {

struct TrainPrograms {
  Program step;  // one whole optimizer step of this rank; it may begin with the update of
                 // the step before
  std::optional<Program> first, flush;  // if so: a step without that, and that update alone
  // With updates during the backward pass, before the norm is known: every other step, which reads
  // the states that `step` writes; and both updates again, for when they must be made otherwise.
  std::optional<Program> odd, redo, odd_redo;
  Program validation;  // forward and loss of one micro-batch
  Program trunk;       // forward of one sequence without the head, for sampling
  std::string digest;  // of the global program: equal on all ranks
  ShardSpec spec;
  /// Memory of checkpoints: the writer's, and with asynchronous saves a snapshot before it.
  struct Saver {
    Tier tier = Tier::host;
    bool keeps_snapshot = false;
  };
  std::optional<Saver> saver;  // none: nothing is saved

  /// step, validation, trunk; then either first and flush, or odd, redo and odd_redo, or none.
  [[nodiscard]] std::vector<const Program*> all() const;
  [[nodiscard]] std::vector<Program*> all_to_change();
};

/// Of activations and of the weights that compute.
constexpr DType act_of(Precision precision) {
  return precision == Precision::bf16   ? DType::bf16
         : precision == Precision::fp16 ? DType::f16
                                        : DType::f32;
}

/// Sees the step's program after each pass, by the pass's name.
using PassSeen = std::function<void(std::string_view pass, const Program& program)>;

/// build -> differentiate -> recompute -> shard -> offload -> rotate. Pure.
/// Errors: Error{config} when the job has more ranks than virtual ranks.
TrainPrograms make_programs(const TrainConfig& config, int rank, int world_size,
                            const PassSeen& seen = {});

/// Who a rank is for the pass "shard".
ShardSpec shard_spec(const TrainConfig& config, int rank, int world_size);

/// How much scratch a backend's kernels need: Kernels::workspace_bytes().
using WorkspaceBytes = std::function<std::size_t(const Kernels::Extents& extents)>;

/// Of kernels that outlive the result.
inline WorkspaceBytes workspace_of(const Kernels& kernels) {
  return [&kernels](const Kernels::Extents& extents) { return kernels.workspace_bytes(extents); };
}

/// Offsets for all of them, in the order of all(), and the place of the snapshot: this rank's
/// saved_tiles() and, behind them, writer_bytes_of(); in files, of state_slots()'s spare ones.
PlacementPlan place_programs(const TrainPrograms& programs, const WorkspaceBytes& workspace);

/// Errors: Error{config} with both numbers when the plan needs more than the device has free.
void require_fit(const PlacementPlan& plan, const Device& device, int rank);

}  // namespace ds
