// Which ranges of the states a rank reads at its start, and in which pieces of a checkpoint they
// lie. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/checkpoint/manifest.h"
#include "engine/program/passes.h"

namespace ds {

/// Elements [first, first + elements) of one state in a group's flat memory.
struct StateRange {
  int group = 0;
  int state = 0;  // 0: master, 1: moment1, 2: moment2
  std::int64_t first = 0, elements = 0;
  friend bool operator==(const StateRange&, const StateRange&) = default;
};

/// Returns the ranges that fill_states() reads from a shared source (StateSource::is_shared) that
/// has all states. A range may occur twice.
std::vector<StateRange> ranges_to_read(const Program& step, const ShardSpec& spec);

/// Returns, for all pieces in the order of tensors, states and pieces, whether they have elements
/// of the ranges. Tensors and states that the manifest lacks are passed over.
std::vector<bool> needed_pieces(const Manifest& manifest, const Program& step,
                                const std::vector<StateRange>& ranges);

}  // namespace ds
