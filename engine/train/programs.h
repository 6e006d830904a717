// Makes the programs of a training job: the step, the validation pass, and those that sample.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/config/train_config.h"
#include "engine/kernels/kernels.h"
#include "engine/models/model_shape.h"
#include "engine/program/offload.h"
#include "engine/program/passes.h"

namespace ds {

struct TrainPrograms {
  Program step;  // one whole optimizer step of this rank; may begin with the
                 // update of the previous step
  std::optional<Program> first,
      flush;  // if it does: a step without that update, and that update alone
  // Only with updates during the backward pass, before the norm is known. `odd` is every other step
  // and reads the states that `step` writes; the redo programs repeat an update with other numbers.
  std::optional<Program> odd, redo, odd_redo;
  Program validation;                      // forward and loss of one micro-batch
  std::optional<Program> prefill, decode;  // only with a sample at the end (DecodePrograms)
  std::string digest;                      // digest of the global program, equal on all ranks
  ShardSpec spec;
  // Of a training step, recomputation not counted (engine/plan/work.h): of each token, and besides
  // of each token with a target.
  double flops_per_token = 0, flops_per_target = 0;
  /// Memory for checkpoints: the writer's buffers, and with asynchronous saves a snapshot before
  /// them.
  struct Saver {
    Tier tier = Tier::host;
    bool keeps_snapshot = false;
  };
  std::optional<Saver> saver;  // none: neither checkpoints nor kept states
  /// Memory for kept states, as many slots as the rank fills.
  struct Slots {
    int count = 0;
    Tier tier = Tier::host;
  };
  Slots kept{};

  /// Returns step and validation, then those of the others that there are, in the order prefill,
  /// decode, first, flush, odd, redo, odd_redo.
  [[nodiscard]] std::vector<const Program*> all() const;
  [[nodiscard]] std::vector<Program*> all_to_change();
};

/// Returns the type of activations and of the weights used in computation.
constexpr DType act_of(Precision precision) {
  return precision == Precision::bf16   ? DType::bf16
         : precision == Precision::fp16 ? DType::f16
                                        : DType::f32;
}

/// Returns the shape of a job's forward passes without dropout, as of validation. Pure.
ModelShape forward_shape(const TrainConfig& config);

/// Receives the step's program after each pass, with the name of the pass.
using PassSeen = std::function<void(std::string_view pass, const Program& program)>;

/// Runs build -> differentiate -> recompute -> shard -> offload -> rotate. Pure.
/// Errors: Error{config} if the job has more ranks than virtual ranks.
TrainPrograms make_programs(const TrainConfig& config, int rank, int world_size,
                            const PassSeen& seen = {});

/// Returns the settings of one rank for the pass "shard".
ShardSpec shard_spec(const TrainConfig& config, int rank, int world_size);

/// Bytes of scratch memory that a backend's kernels need: Kernels::workspace_bytes().
using WorkspaceBytes = std::function<std::size_t(const Kernels::Extents& extents)>;

/// Returns the scratch size function of `kernels`, which must outlive the result.
inline WorkspaceBytes workspace_of(const Kernels& kernels) {
  return [&kernels](const Kernels::Extents& extents) { return kernels.workspace_bytes(extents); };
}

/// Returns the bytes of a slot for this rank's states, with a config of usual length. Those of its
/// ward differ by a few leaves.
std::int64_t kept_slot_bytes(const TrainPrograms& programs);

/// Returns the offsets of all programs, in the order of all(), and the place of the snapshot: this
/// rank's saved_tiles(), then writer_bytes_of(); in files, the spare slots of state_slots(). Kept
/// states are counted.
PlacementPlan place_programs(const TrainPrograms& programs, const WorkspaceBytes& workspace);

/// Errors: Error{config} with both numbers if the plan needs more than the device has free.
void require_fit(const PlacementPlan& plan, const Device& device, int rank);

}  // namespace ds
