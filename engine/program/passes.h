// The passes: pure functions from program to program, each printable and tested alone.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace ds {

/// The rank, what fixes the order of sums (ARCHITECTURE.md, "Same bits"), and what ZeRO splits
/// among ranks (Rajbhandari et al., arXiv:1910.02054). Only the first five fields and `update`
/// decide bits.
struct ShardSpec {
  int rank = 0, world_size = 1;
  int virtual_ranks = 1, accum = 1;
  enum class Order : std::uint8_t { boundary, step } order = Order::boundary;
  int stage = 0;
  bool overlap = false;        // communication on its own streams, gathers ahead of their use
  bool whole_tensors = false;  // ranks own whole tensors instead of ranges
  // Most elements of a group that one collective moves; at least two leaves of each rank
  std::int64_t bucket = INT64_MAX;
  // Elements to gather ahead of use; 0: none; otherwise at least one group
  std::int64_t prefetch = 1;
  std::int64_t max_live = INT64_MAX;  // most elements gathered at the same time, where possible
  // A gathered group stays if its next use comes after gathering at most so many elements
  std::int64_t reuse_distance = 0;
  std::int64_t persist_below = 0;       // smaller groups stay whole at stage 3
  bool separate_master = false;         // fp32 masters have memory of their own
  std::int64_t state_tile = INT64_MAX;  // most elements of optimizer state kept together
  UpdateAttrs update{};
};

/// Appends the reverse of every op, last first, for one micro-batch. Gradients of parameters go to
/// one flat f32 value per group; a value used several times gets the sum of its gradients in
/// reverse program order. The head's loss becomes head_loss_backward, which computes loss and
/// gradient in one pass.
Program differentiate(const Program& forward);

/// What blocks recompute instead of keeping it for the backward pass. selective: norms,
/// activations, gated units and attention. block: everything except one tensor per block and the
/// last block, whose values are needed at once.
enum class Recompute : std::uint8_t { none, selective, block };

/// Makes backward ops read clones ("block0.ln1.out~") of values that are not kept. A clone is made
/// by a second run of the forward op right before its first use, with the same operands and path,
/// so the bits are the same. `fused_epilogues`: a GELU alone does not have the bits of the product
/// that it was fused with, so selective keeps its result.
Program recompute(const Program& differentiated, Recompute policy, bool fused_epilogues = false);

struct ActivationOffloadSpec {
  int ahead = 12;  // ops between a copy back and its first reader: about a block's backward pass
  bool overlap = true;  // copies run on their own streams
};

/// Copies activations that the backward pass reads much later to host memory ("x.host"), and back
/// ("x.back") `ahead` ops before their first reader there. Small values (statistics) and values
/// read soon stay.
Program offload_activations(const Program& differentiated, const ActivationOffloadSpec& spec);

/// Unrolls the step of this rank: its micro-batches in order, the ordered reduction over virtual
/// ranks, gradient norm, control, and the optimizer on what this rank owns. Adds master and
/// moments. Stage 0: all ranks hold everything. Stage 1: a rank holds its slice of master and
/// moments. Stage 2: of the reduced gradient too. Stage 3: of the weights too, which are gathered
/// for each stretch of uses. Errors: Error{config} when world_size > virtual_ranks.
Program shard(const Program& differentiated, const ShardSpec& spec);

/// Replaces the weights of split groups by copies that are gathered from all ranks' slices for each
/// stretch of uses, `prefetch` elements ahead. Adds the slices. The last part of shard().
Program gather_weights(Program program, const ShardSpec& spec);

/// Gathers weights from slices at stage 3 in a program without a step (validation, sampling).
Program shard_forward(const Program& forward, const ShardSpec& spec);

/// Adapts a program to a device whose memory is not the host's; the last pass. Values that the host
/// fills in or reads go to pinned memory, which kernels reach too. The host updates states outside
/// of the device, and host threads read and write files, each on its own stream. Programs share
/// values by name, so all programs of a job must go through it.
Program for_accelerator(Program program);

/// Bytes of one tier.
struct TierPlan {
  std::int64_t persistent_bytes = 0, transient_bytes = 0, workspace_bytes = 0;
  std::int64_t workspace_offset = 0;
  std::int64_t snapshot_offset = 0, snapshot_bytes = 0;  // the part added by add_snapshot()
  std::int64_t total_bytes = 0;
  std::int64_t kept_bytes = 0;  // not in total_bytes: memory that outlives the rank (add_kept())
  /// For messages and `plan`: class name -> bytes. Classes: weights, frozen weights, master,
  /// moments, scratch; gathered weights, gradients, activations, inputs and rings as they are when
  /// most bytes are alive; the cache of decoding and the holes between those; snapshot, spare
  /// slots, kept states. They add up to total_bytes and kept_bytes.
  std::vector<std::pair<std::string, std::int64_t>> classes;
};

/// Offsets of several programs that share their persistent values (by name) and run one at a time.
struct PlacementPlan {
  std::vector<std::vector<std::int64_t>>
      offsets;  // [program][value]: bytes into the value's tier; views are resolved
  std::array<TierPlan, kTiers> tiers;
  [[nodiscard]] const TierPlan& of(Tier tier) const {
    return tiers[static_cast<std::size_t>(tier)];
  }
  [[nodiscard]] TierPlan& of(Tier tier) { return tiers[static_cast<std::size_t>(tier)]; }
  [[nodiscard]] const TierPlan& device() const { return of(Tier::device); }
};

/// Assigns arena offsets by liveness: values whose lives do not overlap share bytes. An op's
/// results never share bytes with its operands. Inputs live from before the first op; losses,
/// counts, logits, the final activation and the groups' gradients until after the last. Kept values
/// lie at the same place in all programs, where other programs have transient values. Alignment:
/// 4096 from 64 KiB on, 512 below. Errors: none; one name with two sizes is a bug.
PlacementPlan place(const std::vector<const Program*>& programs, std::int64_t workspace_bytes);

/// Adds memory behind everything else on the tier, once: a buffer that holds a checkpoint while it
/// is written, or, in files, room for what training writes meanwhile. `name`: the class.
void add_snapshot(TierPlan& plan, std::int64_t bytes, std::string_view name = "snapshot");

/// Adds memory that is not the rank's own: copies of its states that the node's agent holds.
void add_kept(TierPlan& plan, std::int64_t bytes);

/// Prints one line per op and value: for `plan --print`, golden tests and the hash that ranks
/// compare. The hash leaves out what differs between ranks of one job.
std::string print(const Program& program);
std::string hash_of_global_program(const Program& differentiated, const ShardSpec& spec);

/// Checks the invariants of every pass: unique names, inputs defined before use, shapes that fit
/// their ops, views inside their bases. Violations are bugs (DS_ASSERT).
void verify(const Program& program);

}  // namespace ds
