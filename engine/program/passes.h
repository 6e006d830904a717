// The passes: pure functions from program to program. Each is printable and tested alone.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace ds {

/// Who this rank is, what fixes the order of sums (ARCHITECTURE.md, "Same bits"), and what ZeRO
/// splits among ranks (Rajbhandari et al., arXiv:1910.02054). Only the first five and `update`
/// decide bits.
struct ShardSpec {
  int rank = 0, world_size = 1;
  int virtual_ranks = 1, accum = 1;
  enum class Order : std::uint8_t { boundary, step } order = Order::boundary;
  int stage = 0;
  bool overlap = false;        // communication on its own streams, gathers ahead of their use
  bool whole_tensors = false;  // ranks own whole tensors, not ranges
  std::int64_t gather_bucket = INT64_MAX;  // most elements of a group that one collective moves
  std::int64_t reduce_bucket = INT64_MAX;
  std::int64_t prefetch = 1;            // elements to gather ahead of use: at least one group
                                        // unless 0
  std::int64_t max_live = INT64_MAX;    // elements gathered at the same time, where it can be
  std::int64_t reuse_distance = 0;      // a group used again after gathering no more than that
                                        // stays
  std::int64_t persist_below = 0;       // groups of fewer elements stay whole at stage 3
  bool separate_master = false;         // fp32 masters are not the weights' own memory
  std::int64_t state_tile = INT64_MAX;  // elements of optimizer state that are kept as one
  UpdateAttrs update{};
};

/// Appends the reverse of every op, last first, for one micro-batch. Gradients of parameters go to
/// one flat f32 value per group; a value used several times gets the sum of its gradients in
/// reverse program order. The head's loss becomes head_loss_backward, which makes loss and gradient
/// in one pass.
Program differentiate(const Program& forward);

/// What the blocks do not keep for the backward pass but make again. selective: norms, GELU, SwiGLU
/// and attention. block: everything; one tensor a block is kept, and the last block, whose values
/// are needed at once.
enum class Recompute : std::uint8_t { none, selective, block };

/// Backward ops read clones ("block0.ln1.out~") of what is not kept, made by second runs of forward
/// ops right before their first use. The same bits: a second run has the first one's operands and
/// path. `fused_epilogues`: GELU alone has not the bits of the product that it was part of, so
/// selective keeps its result.
Program recompute(const Program& differentiated, Recompute policy, bool fused_epilogues = false);

struct ActivationOffloadSpec {
  int ahead = 12;  // ops between a copy back and its first reader: about a block's backward pass
  bool overlap = true;  // copies on their own streams
};

/// Activations that the backward pass reads much later go to host memory ("x.host") and come back
/// ("x.back") `ahead` ops before their first reader there. Small ones (statistics), and those that
/// are read soon, stay.
Program offload_activations(const Program& differentiated, const ActivationOffloadSpec& spec);

/// Unrolls the step of this rank: its micro-batches in order, the ordered reduction over virtual
/// ranks, gradient norm, control, optimizer on what this rank owns. Adds master and moments.
/// Stage 0: all is whole on all ranks. 1: master and moments are this rank's slice. 2: the reduced
/// gradient too. 3: weights too; they are gathered for each stretch of uses.
/// Errors: Error{config} when world_size > virtual_ranks.
Program shard(const Program& differentiated, const ShardSpec& spec);

/// The last part of shard(): the split groups' weights become copies that are gathered from all
/// ranks' slices for each stretch of uses, `prefetch` elements ahead. Adds the slices.
Program gather_weights(Program program, const ShardSpec& spec);

/// The same for a program without a step (validation, sampling): at stage 3 its weights are
/// gathered from the slices.
Program shard_forward(const Program& forward, const ShardSpec& spec);

/// The last pass where the device's memory is not the host's. What the host fills in or reads lies
/// in pinned memory, which kernels reach too; updates of states outside the device are the host's
/// work, and files are read and written by threads of the host, each on a stream of its own.
/// Programs share values by name, so all of a job's go through it.
Program for_accelerator(Program program);

/// Bytes of one tier.
struct TierPlan {
  std::int64_t persistent_bytes = 0, transient_bytes = 0, workspace_bytes = 0;
  std::int64_t workspace_offset = 0;
  std::int64_t snapshot_offset = 0, snapshot_bytes = 0;  // what add_snapshot() added
  std::int64_t total_bytes = 0;
  /// For people and `plan`: class name -> bytes (weights, master, moments, scratch; gathered
  /// weights, gradients, activations, inputs and rings as they are at the moment of most bytes
  /// alive; holes between those; snapshot, spare slots). They add up to total_bytes.
  std::vector<std::pair<std::string, std::int64_t>> classes;
};

/// Offsets of several programs that share their persistent values (by name) and run one at a time.
struct PlacementPlan {
  std::vector<std::vector<std::int64_t>>
      offsets;  // [program][value] bytes into the value's tier; views resolved
  std::array<TierPlan, kTiers> tiers;
  [[nodiscard]] const TierPlan& of(Tier tier) const {
    return tiers[static_cast<std::size_t>(tier)];
  }
  [[nodiscard]] TierPlan& of(Tier tier) { return tiers[static_cast<std::size_t>(tier)]; }
  [[nodiscard]] const TierPlan& device() const { return of(Tier::device); }
};

/// Liveness -> arena offsets: values whose lives do not overlap share bytes. An op's results never
/// share bytes with what it reads. Inputs live from before the first op; losses, counts, the final
/// activation and the groups' gradients until after the last. Alignment: 4096 from 64 KiB on, 512
/// below. Errors: none; equal names of different size are bugs.
PlacementPlan place(const std::vector<const Program*>& programs, std::int64_t workspace_bytes);

/// Behind everything else on the tier, once: memory that holds a checkpoint while it is written; in
/// files, room for what training writes meanwhile. `name`: the class.
void add_snapshot(TierPlan& plan, std::int64_t bytes, std::string_view name = "snapshot");

/// One line an op and a value: for `plan --print`, golden tests and the hash that ranks compare.
/// `global` leaves out what differs between ranks of one job.
std::string print(const Program& program);
std::string hash_of_global_program(const Program& differentiated, const ShardSpec& spec);

/// Checks what every pass must keep: unique names, inputs defined before use, shapes that fit their
/// ops, views inside their bases. Bugs only: DS_ASSERT.
void verify(const Program& program);

}  // namespace ds
