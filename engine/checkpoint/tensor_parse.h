// Parses tensors, states and pieces from JSON and checks every number. For .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "engine/checkpoint/json_node.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

/// Limits of what pieces may refer to.
struct Limits {
  const std::vector<ChunkFile>& chunks;
  std::int64_t least_rank = 0, most_rank = 0;
};

/// Errors of both functions: Error{config}.
ChunkFile chunk_in(const Json& json, const std::string& place);
std::vector<TensorEntry> tensors_in(const Node& node, const Limits& limits);

}  // namespace ds
