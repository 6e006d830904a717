// Initializes and hashes weights, one tile at a time.
#include "engine/states/weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "engine/program/liveness.h"
#include "engine/program/offload.h"
#include "engine/program/slices.h"
#include "engine/states/frozen_weights.h"
#include "engine/states/leaf_digest.h"
#include "engine/states/saved_states.h"
#include "engine/tensor/split_master.h"

namespace ds {
namespace {

/// Elements that are initialized or moved at once where nothing else sets a size.
constexpr std::int64_t kChunk = 1 << 18;

/// Fills the values that this rank holds of one group from a source.
class FirstValues {
 public:
  FirstValues(const Program& step, const ShardSpec& spec, const Executor& executor,
              TileFiles* files, StateSource& source, Kernels& kernels, Stream& stream)
      : step_(step),
        spec_(spec),
        executor_(executor),
        files_(files),
        source_(source),
        kernels_(kernels),
        stream_(stream) {}

  void fill(const ParamGroup& group) {
    if (group.trains)
      for (const StateTile& tile : group.states) fill_tile(group, tile);
    const ValueId weights = group.weights != kNoValue ? group.weights : group.slice;
    if (group.trains && is_master(group, weights)) return;
    if (step_.value(weights).tier == Tier::nvme) return fill_files(group, weights);
    if (group.weights != kNoValue) return fill_memory(group, kMaster, weights, shared_part(group));
    for (const OwnedPart& part : group.own) fill_memory(group, kMaster, weights, part);
  }

 private:
  struct NamedValue {
    std::string_view state;
    ValueId value;
  };
  static std::array<NamedValue, 3> states_of(const StateTile& tile) {
    return {{{kMaster, tile.master}, {kMoment1, tile.moment1}, {kMoment2, tile.moment2}}};
  }

  // fp32 masters may be the weights themselves, or views of them.
  [[nodiscard]] bool is_master(const ParamGroup& group, ValueId weights) const {
    std::int64_t elements = 0;
    for (const StateTile& tile : group.states)
      if (home_of(step_, tile.master).base == weights) elements += tile.elements;
    return elements == step_.value(weights).shape.elements();
  }

  // What this rank fills of values that all ranks hold whole.
  [[nodiscard]] OwnedPart shared_part(const ParamGroup& group) const {
    if (!source_.is_shared()) return {.elements = group.elements};
    const ElementRange share = even_share(group, spec_.rank, spec_.world_size);
    return {.first = share.first, .elements = share.last - share.first, .at = share.first};
  }

  void fill_tile(const ParamGroup& group, const StateTile& tile) {
    if (step_.value(tile.master).tier == Tier::nvme) return fill_tile_in_files(group, tile);
    OwnedPart part{.first = tile.first, .elements = tile.elements};
    if (spec_.stage == 0) {
      const OwnedPart shared = shared_part(group);
      part.first = std::max(tile.first, shared.first);
      part.elements =
          std::min(tile.first + tile.elements, shared.first + shared.elements) - part.first;
      part.at = part.first - tile.first;
    }
    for (const auto& [state, value] : states_of(tile)) {
      if (value != kNoValue && source_.has(state)) fill_memory(group, state, value, part);
    }
  }

  // The states of a tile are adjacent in the file and are written at once.
  void fill_tile_in_files(const ParamGroup& group, const StateTile& tile) {
    const ValueId home = step_.value(tile.master).base;
    const auto bytes = static_cast<std::size_t>(bytes_of(step_.value(home)));
    std::vector<std::byte> whole(bytes + kTileAlignment);
    std::byte* const data = aligned(whole.data());
    for (const auto& [state, value] : states_of(tile)) {
      if (value == kNoValue) continue;
      auto* const first = reinterpret_cast<float*>(data) + step_.value(value).offset;
      fill_range(group, state, tile.first, {first, static_cast<std::size_t>(tile.elements)});
    }
    files_->write(executor_.offset(home), {data, bytes});
  }

  // Fills elements [part.at, part.at + part.elements) of the value.
  void fill_memory(const ParamGroup& group, std::string_view state, ValueId id,
                   const OwnedPart& part) {
    if (part.elements <= 0) return;  // another rank has all of it
    const Tensor values = executor_.tensor(id);
    if (values.dtype == DType::f32 && executor_.host_reaches(id))
      return fill_range(group, state, part.first,
                        {static_cast<float*>(values.data) + part.at,
                         static_cast<std::size_t>(part.elements)});
    for (const OwnedPart& piece : tiles_of({part}, kChunk)) {
      const Tensor chunk{static_cast<std::byte*>(values.data) + piece.at * size_of(values.dtype),
                         values.dtype,
                         {piece.elements}};
      buffer_.resize(static_cast<std::size_t>(piece.elements));
      fill_range(group, state, piece.first, buffer_);
      if (executor_.host_reaches(id)) {
        convert(chunk);
      } else {
        staging_.resize(static_cast<std::size_t>(chunk.bytes()));
        convert({staging_.data(), chunk.dtype, chunk.shape});
        executor_.copy_in(staging_, chunk.data);
      }
    }
  }

  void convert(const Tensor& to) {
    if (to.dtype == DType::f32) {
      std::ranges::copy(buffer_, static_cast<float*>(to.data));
    } else if (to.dtype == DType::i16) {
      std::ranges::transform(buffer_, static_cast<std::int16_t*>(to.data), low_half);
    } else {
      kernels_.run(Cast{.in = {buffer_.data(), DType::f32, to.shape}, .out = to}, stream_);
      stream_.synchronize();
    }
  }

  // Writes tile by tile, in the form in which the tiles will be read.
  void fill_files(const ParamGroup& group, ValueId id) {
    const DType dtype = step_.value(id).dtype;
    for (const OwnedPart& tile : tiles_of(group.own, spec_.state_tile)) {
      buffer_.assign(static_cast<std::size_t>(padded(tile.elements)), 0.0F);
      fill_range(group, kMaster, tile.first,
                 std::span(buffer_).first(static_cast<std::size_t>(tile.elements)));
      const std::int64_t bytes = padded(tile.elements) * size_of(dtype);
      std::vector<std::byte> cast(static_cast<std::size_t>(bytes) + kTileAlignment);
      std::byte* const data = aligned(cast.data());
      kernels_.run(Cast{.in = {buffer_.data(), DType::f32, {padded(tile.elements)}},
                        .out = {data, dtype, {padded(tile.elements)}}},
                   stream_);
      stream_.synchronize();
      files_->write(executor_.offset(id) + tile.at * size_of(dtype),
                    {data, static_cast<std::size_t>(bytes)});
    }
  }

  /// Fills elements [first, first + out.size()) of the group's flat memory; gaps become zeros.
  void fill_range(const ParamGroup& group, std::string_view state, std::int64_t first,
                  std::span<float> out) {
    const auto part_of = [&](std::int64_t from, std::int64_t to) {
      return out.subspan(static_cast<std::size_t>(from - first), static_cast<std::size_t>(to - from));
    };
    const std::int64_t end = first + std::ssize(out);
    std::int64_t filled = first;
    if (source_.has(state)) {
      for (const ParamTensor& tensor : group.tensors) {
        const std::int64_t from = std::max(first, tensor.offset);
        const std::int64_t to = std::min(end, tensor.offset + tensor.shape.elements());
        if (from >= to) continue;
        DS_ASSERT(from >= filled, "the tensors of a group ascend");
        std::ranges::fill(part_of(filled, from), 0.0F);
        source_.read(tensor, state, from - tensor.offset, part_of(from, to));
        filled = to;
      }
    }
    std::ranges::fill(part_of(filled, end), 0.0F);
  }

  const Program& step_;
  const ShardSpec& spec_;
  const Executor& executor_;
  TileFiles* const files_;
  StateSource& source_;
  Kernels& kernels_;
  Stream& stream_;
  std::vector<float> buffer_;
  std::vector<std::byte> staging_;  // for values that the host cannot write
};

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

void fill_states(const Program& step, const ShardSpec& spec, const Executor& executor,
                 TileFiles* files, StateSource& source, Kernels& kernels, Stream& stream) {
  FirstValues values(step, spec, executor, files, source, kernels, stream);
  for (const ParamGroup& group : step.groups) values.fill(group);
  stream.synchronize();
}

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
        for (const OwnedPart& each : tiles_of({{.elements = tile.elements}}, kChunk))
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
