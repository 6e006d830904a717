// Pairs of PMI as the data of fences. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/wire/mpi_messages.h"

namespace ds::launcher {

/// Returns pairs as data for the frames of a fence, each with whole pairs and, unless it is one
/// pair, with at most kFenceFrameBytes. There is at least one.
std::vector<std::string> cut_pairs(const KeyValues& pairs);

/// Returns the pairs of a frame. Data that cut_pairs() has not made ends at the first pair that
/// does not fit.
KeyValues read_pairs(const std::string& data);

}  // namespace ds::launcher
