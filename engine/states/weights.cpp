// Hashes master weights, one tile at a time.
#include "engine/states/weights.h"

#include <algorithm>
#include <cstring>

#include "engine/program/liveness.h"
#include "engine/program/offload.h"
#include "engine/program/slices.h"
#include "engine/states/frozen_weights.h"
#include "engine/states/leaf_digest.h"
#include "engine/tensor/split_master.h"

namespace ds {
namespace {

/// Elements of frozen weights that are read at once.
constexpr std::int64_t kFrozenChunk = 1 << 18;

/// Returns the leaves up to the group's last element, without the padding, which depends on the
/// number of ranks.
std::int64_t leaves_of(const ParamGroup& group) {
  std::int64_t end = 0;
  for (const ParamTensor& tensor : group.tensors)
    end = std::max(end, tensor.offset + tensor.shape.elements());
  return (end + kLeaf - 1) / kLeaf;
}

/// Adds elements [first, first + values) of the group's flat memory without the gaps. `leaf` is the
/// number of the group's first leaf.
void add_to_digest(LeafDigest& digest, std::int64_t leaf, const ParamGroup& group,
                   std::int64_t first, std::span<const float> values) {
  const std::int64_t end = first + std::ssize(values);
  DS_ASSERT(first % kLeaf == 0);
  for (const ParamTensor& tensor : group.tensors) {
    const std::int64_t to = std::min(end, tensor.offset + tensor.shape.elements());
    for (std::int64_t at = std::max(first, tensor.offset); at < to; at += kLeaf) {
      digest.add(static_cast<std::uint64_t>(leaf + at / kLeaf),
                 values.subspan(static_cast<std::size_t>(at - first),
                                static_cast<std::size_t>(std::min(kLeaf, to - at))));
    }
  }
}

/// Returns elements [first, first + count) of a value, copied to `buffer` if host code cannot read
/// them in place.
template <class T>
const T* elements_of(const Executor& executor, ValueId id, std::int64_t first, std::int64_t count,
                     std::vector<T>& buffer) {
  const T* const there = static_cast<const T*>(executor.tensor(id).data) + first;
  if (executor.host_reaches(id)) return there;
  buffer.resize(static_cast<std::size_t>(count));
  executor.copy_out(there, std::as_writable_bytes(std::span(buffer)));
  return buffer.data();
}

/// Returns a split16 master, joined in `buffer`.
std::span<const float> joined_master(const Program& step, const ParamGroup& group,
                                     const StateTile& tile, const Executor& executor,
                                     std::vector<float>& buffer) {
  const bool is_whole = group.weights != kNoValue;
  const std::int64_t first = is_whole ? tile.first : offset_in_slice(group, tile.first);
  std::vector<std::uint16_t> highs;
  std::vector<std::int16_t> lows;
  const auto* high =
      elements_of(executor, is_whole ? group.weights : group.slice, first, tile.elements, highs);
  const auto* low = elements_of(executor, tile.master, 0, tile.elements, lows);
  DS_ASSERT(step.value(tile.master).tier == Tier::device);
  buffer.resize(static_cast<std::size_t>(tile.elements));
  std::transform(high, high + tile.elements, low, buffer.begin(), joined_halves);
  return buffer;
}

/// Returns the master weights of one of this rank's tiles. `buffer` holds them if they are in files
/// or split.
std::span<const float> master_of(const Program& step, const ParamGroup& group,
                                 const StateTile& tile, const Executor& executor, TileFiles* files,
                                 std::vector<float>& buffer) {
  const Value& master = step.value(tile.master);
  if (master.dtype == DType::i16) return joined_master(step, group, tile, executor, buffer);
  const auto elements = static_cast<std::size_t>(tile.elements);
  if (master.tier != Tier::nvme)
    return {elements_of(executor, tile.master, 0, tile.elements, buffer), elements};
  const auto bytes = static_cast<std::size_t>(bytes_of(step.value(master.base)));
  buffer.resize((bytes + kTileAlignment) / sizeof(float));
  std::byte* const data = aligned(reinterpret_cast<std::byte*>(buffer.data()));
  files->read(executor.offset(master.base), {data, bytes});
  return {reinterpret_cast<const float*>(data), elements};
}

}  // namespace

// Every rank hashes its own slices. Of replicated masters, rank 0 hashes its own.
std::string weights_hash(const Program& step, const ShardSpec& spec, const Executor& executor,
                         TileFiles* files, Group& world, Clock::duration timeout) {
  const bool is_split = spec.stage >= 1 && world.size() > 1;
  LeafDigest own;
  std::vector<float> buffer;
  FrozenWeights frozen(step, executor, files);
  std::int64_t leaf = 0;
  for (const ParamGroup& group : step.groups) {
    if (is_split || world.rank() == 0) {
      for (const StateTile& tile : group.states) {
        if (group.trains) {
          add_to_digest(own, leaf, group, tile.first,
                        master_of(step, group, tile, executor, files, buffer));
          continue;
        }
        for (const OwnedPart& each : tiles_of({{.elements = tile.elements}}, kFrozenChunk))
          add_to_digest(own, leaf, group, tile.first + each.first,
                        frozen.read(tile.master, each.first, each.elements));
      }
    }
    leaf += leaves_of(group);
  }
  world.about("weights hash");
  const auto add = [](std::span<std::byte> left, std::span<const std::byte> right) {
    LeafDigest sum, other;
    std::memcpy(&sum, left.data(), sizeof sum);
    std::memcpy(&other, right.data(), sizeof other);
    sum.add(other);
    std::memcpy(left.data(), &sum, sizeof sum);
  };
  world.combine(std::as_writable_bytes(std::span(&own, 1)), add, Deadline::after(timeout));
  return world.rank() == 0 ? own.text() : std::string();
}

}  // namespace ds
