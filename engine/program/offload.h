// Optimizer state and weights outside the device: what lies where, and the step around it.
#pragma once

#include "engine/program/passes.h"

namespace ds {

/// When the optimizer works on offloaded states: after the backward pass; beside the next forward
/// pass (rotate); beside the backward pass, before the norm is known (update_early).
enum class UpdateMoment : std::uint8_t { after, forward, backward };

struct OffloadSpec {
  Tier states = Tier::device;     // device, host or nvme
  Tier weights = Tier::device;    // of groups whose weights are split: device, host or nvme
  Tier gradients = Tier::device;  // reduced ones, where they are split: device, host or nvme
  std::int64_t tile = 4 << 20;    // elements; a multiple of 2 * kLeaf
  int buffers = 4;                // tiles on their way at once
  bool overlap = true;            // copies run beside the compute stream
  double device_share = 0;        // of the tiles on the host: updated by the device, where their
                                  // states come and go; the rest by the host, where they lie
  UpdateMoment time = UpdateMoment::after;
  // For UpdateMoment::backward, which keeps states twice: the one that a step reads.
  bool odd = false;
  [[nodiscard]] bool keeps_two() const { return time == UpdateMoment::backward; }
};

/// What copy_between_tiers() needs beside the two values.
struct CopyPlace {
  std::string path;
  int group = 0;
  StreamId stream = StreamId::fetch;  // fetch: to the device or to where it is used; evict: away
};
/// One op `copy`; values of the same type and number of elements, on any two tiers.
Op copy_between_tiers(const OffloadSpec& spec, const CopyPlace& place, ValueId from, ValueId to);

/// Elements of a piece of weights in files: whole pages for types of two bytes.
std::int64_t padded(std::int64_t elements);

/// Between offload_weights and offload_states. Slices of gradients that are not used for a while,
/// because other groups are reduced or until the optimizer comes, lie on spec.gradients.
Program offload_gradients(Program step, const OffloadSpec& spec);

/// The optimizer works through tiles on the tier that holds its state: gradients go there, weights
/// come back. A tile's states lie side by side. Replaces the values and updates of the pass
/// "shard".
Program offload_states(Program step, const OffloadSpec& spec);

/// Before offload_states. Split weights lie on spec.weights, and come to the device where they are
/// gathered. For any program after its weights are split; updates on the device send what they
/// write there. Weights in files need states on the host or in files.
Program offload_weights(Program program, const ShardSpec& shard, const OffloadSpec& spec);

/// A step whose update runs at the start of the next one, group by group ahead of the weights'
/// first use: the same arithmetic, beside the next forward pass.
struct RotatedStep {
  Program first;  // forward, backward, control
  Program next;   // the last step's update, then the same
  Program flush;  // the update alone: before the weights are needed for anything else
};
RotatedStep rotate(const Program& step, bool overlap);

/// A step whose updates run beside its backward pass, one group later than their gradients, with
/// numbers that hold if nothing is clipped or left out; where that turns out wrong, `redo` makes
/// the update again from the states that the step has read.
struct EarlyStep {
  Program step, redo;
};
EarlyStep update_early(const Program& step, bool overlap);

}  // namespace ds
