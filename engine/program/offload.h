// The offload passes: optimizer states, weights and gradients outside of the device, and the steps
// around them.
#pragma once

#include "engine/program/passes.h"

namespace ds {

/// When offloaded states are updated: after the backward pass; beside the next forward pass
/// (rotate()); beside the backward pass, before the norm is known (update_early()).
enum class UpdateMoment : std::uint8_t { after, forward, backward };

struct OffloadSpec {
  Tier states = Tier::device;     // device, host or nvme
  Tier weights = Tier::device;    // of groups whose weights are split: device, host or nvme
  Tier gradients = Tier::device;  // reduced gradients, where they are split: device, host or nvme
  std::int64_t tile = 4 << 20;    // elements; a multiple of 2 * kLeaf
  int buffers = 4;                // tiles under way at the same time
  bool overlap = true;            // copies run beside the compute stream
  // Share of the tiles on the host that the device updates, to which their states are copied and
  // back; the host updates the rest in place
  double device_share = 0;
  UpdateMoment time = UpdateMoment::after;
  // For UpdateMoment::backward, which keeps states twice: which copy a step reads.
  bool odd = false;
  [[nodiscard]] bool keeps_two() const { return time == UpdateMoment::backward; }
};

/// What copy_between_tiers() takes beside the two values.
struct CopyPlace {
  std::string path;
  int group = 0;
  StreamId stream = StreamId::fetch;  // fetch: to the device or to its use; evict: away
};
/// Returns one `copy` op. Both values have the same type and number of elements, on any two tiers.
Op copy_between_tiers(const OffloadSpec& spec, const CopyPlace& place, ValueId from, ValueId to);

/// Returns the elements of a piece of weights in files: whole pages for 2-byte types.
std::int64_t padded(std::int64_t elements);

/// Keeps slices of gradients on spec.gradients while they are not used: while other groups are
/// reduced, and until the optimizer runs. Runs between offload_weights() and offload_states().
Program offload_gradients(Program step, const OffloadSpec& spec);

/// Makes the optimizer work through tiles on the tier that holds its states: gradients go there,
/// weights come back. The states of a tile are adjacent. Replaces the values and updates of the
/// pass shard().
Program offload_states(Program step, const OffloadSpec& spec);

/// Keeps split weights on spec.weights and fetches them to the device where they are gathered. Runs
/// before offload_states(), on any program whose weights are split; updates on the device send the
/// weights that they write to spec.weights. Weights in files need states on the host or in files.
Program offload_weights(Program program, const ShardSpec& shard, const OffloadSpec& spec);

/// A step whose update runs at the start of the next step, group by group before the first use of
/// their weights. Same arithmetic, beside the next forward pass.
struct RotatedStep {
  Program first;  // forward, backward, control
  Program next;   // the last step's update, then forward, backward, control
  Program flush;  // the update alone: before the weights are used for anything else
};
RotatedStep rotate(const Program& step, bool overlap);

/// A step whose updates run beside its backward pass, one group later than their gradients. They
/// use numbers that hold if nothing is clipped or skipped. When that was wrong, `redo` repeats the
/// update from the states that the step has read.
struct EarlyStep {
  Program step, redo;
};
EarlyStep update_early(const Program& step, bool overlap);

}  // namespace ds
