// Cuts tiles at tensor boundaries and tensors into pieces, and appends them to a chunk.
#include "engine/states/save_states.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "engine/base/function_ref.h"
#include "engine/checkpoint/save_names.h"
#include "engine/program/liveness.h"
#include "engine/states/frozen_weights.h"
#include "engine/tensor/split_master.h"
#include "engine/tensor/widen.h"

namespace ds {
namespace {

constexpr std::array kStateNames{kMaster, kMoment1, kMoment2};
// Pieces of this size still bypass the page cache (ChunkWriter).
constexpr std::int64_t kSmallPieceBytes = 1 << 20;
constexpr std::int64_t kManyPieces = 4096;

Box whole_box(const Shape& shape) {
  return {std::vector<std::int64_t>(static_cast<std::size_t>(shape.axes())), extents_of(shape)};
}

/// Returns the bytes of parts of tiles as fp32, from memory, the snapshot or files.
class TileBytes {
 public:
  TileBytes(const StatesToSave& states, std::span<std::byte> buffer) : states_(states) {
    joined_ = buffer.first(kPieceBytes);
    halves_ = buffer.subspan(kPieceBytes, kPieceBytes);
    from_files_ = buffer.subspan(2 * kPieceBytes);
  }

  /// Returns elements [at, at + count) of a tile, at most kPieceBytes of fp32, until the next call.
  std::span<const std::byte> take(const SavedTile& tile, std::int64_t at, std::int64_t count) {
    const DType dtype = states_.program.value(tile.value).dtype;
    if (tile.in_files)
      return tile.frozen ? widened(weights_in_files(tile, at, count), dtype, count)
                         : in_files(tile, at, count);
    if (tile.high != kNoValue) return joined(tile, at, count);
    const bool is_wide = dtype == DType::f32;
    const std::int64_t size = size_of(dtype);
    const std::span<const std::byte> there =
        states_.snapshot == nullptr
            ? in_memory(tile.value, tile.offset + at, count, is_wide ? joined_ : halves_)
            : std::span(states_.snapshot + tile.snapshot_at + at * size,
                        static_cast<std::size_t>(count * size));
    return is_wide ? there : widened(there, dtype, count);
  }

  /// Releases the last tile read from files, which the next steps may then write.
  void release() {
    if (home_ != kNoValue && states_.frozen != nullptr) states_.frozen->release(place_of(home_));
    home_ = kNoValue;
  }

 private:
  std::span<const std::byte> in_memory(ValueId id, std::int64_t first, std::int64_t count,
                                       std::span<std::byte> copy) const {
    const Tensor values = states_.executor.tensor(id);
    const std::int64_t size = size_of(values.dtype);
    const auto* const there = static_cast<const std::byte*>(values.data) + first * size;
    const auto bytes = static_cast<std::size_t>(count * size);
    if (states_.executor.host_reaches(id)) return {there, bytes};
    states_.executor.copy_out(there, copy.first(bytes));
    return copy.first(bytes);
  }

  // The snapshot holds the lower halves of a whole tile, then the upper ones.
  std::span<const std::byte> joined(const SavedTile& tile, std::int64_t at, std::int64_t count) {
    std::span<const std::byte> lows, highs;
    if (states_.snapshot != nullptr) {
      const std::byte* const first = states_.snapshot + tile.snapshot_at;
      const auto bytes = static_cast<std::size_t>(count) * 2;
      lows = {first + at * 2, bytes};
      highs = {first + (tile.elements + at) * 2, bytes};
    } else {
      lows = in_memory(tile.value, tile.offset + at, count, halves_.first(kPieceBytes / 2));
      highs = in_memory(tile.high, tile.high_offset + at, count, halves_.last(kPieceBytes / 2));
    }
    const auto* const low = reinterpret_cast<const std::int16_t*>(lows.data());
    const auto* const high = reinterpret_cast<const std::uint16_t*>(highs.data());
    std::transform(high, high + count, low, reinterpret_cast<float*>(joined_.data()),
                   joined_halves);
    return joined_.first(static_cast<std::size_t>(count) * 4);
  }

  std::span<const std::byte> widened(std::span<const std::byte> from, DType dtype,
                                     std::int64_t count) const {
    const auto size = static_cast<std::size_t>(count);
    widen(from.data(), dtype, {reinterpret_cast<float*>(joined_.data()), size});
    return joined_.first(size * sizeof(float));
  }

  // Training never writes frozen weights, so they need no snapshot and no versions.
  std::span<const std::byte> weights_in_files(const SavedTile& tile, std::int64_t at,
                                              std::int64_t count) {
    release();
    const FileRange range =
        file_range(states_.program, states_.executor, tile.value, tile.offset + at, count);
    const auto into = from_files_.first(static_cast<std::size_t>(range.bytes));
    if (states_.frozen != nullptr) {
      states_.frozen->read_beside(range.offset, into);
    } else {
      states_.files->read(range.offset, into);
    }
    return into.subspan(static_cast<std::size_t>(range.skipped));
  }

  // The states of a tile are adjacent in the file and saved one after the other: one read for all.
  std::span<const std::byte> in_files(const SavedTile& tile, std::int64_t at, std::int64_t count) {
    const ValueId home = home_of_tile(states_.program, tile);
    if (home != home_) {
      release();
      const VersionedFiles::Tile place = place_of(home);
      const std::span<std::byte> into = from_files_.first(static_cast<std::size_t>(place.bytes));
      if (states_.frozen != nullptr) {
        states_.frozen->read_frozen(place, into);
      } else {
        states_.files->read(place.offset, into);
      }
      home_ = home;
    }
    const std::int64_t first = states_.program.value(tile.value).offset + tile.offset + at;
    return from_files_.subspan(static_cast<std::size_t>(first) * 4,
                               static_cast<std::size_t>(count) * 4);
  }

  [[nodiscard]] VersionedFiles::Tile place_of(ValueId home) const {
    return {states_.executor.offset(home), bytes_of(states_.program.value(home))};
  }

  const StatesToSave& states_;
  std::span<std::byte> joined_, halves_, from_files_;
  ValueId home_ = kNoValue;  // the value whose bytes from_files_ holds
};

/// Lists the pieces of tiles. `append` places elements [at, at + count) of a tile in the chunk.
class PartCutter {
 public:
  using Append =
      FunctionRef<ChunkWriter::Place(const SavedTile& tile, std::int64_t at, std::int64_t count)>;
  PartCutter(const Program& program, StateClass held, Append append)
      : program_(program), held_(held), append_(append), most_(piece_elements(program)) {}

  void cut(const SavedTile& tile) {
    const ParamGroup& group = program_.groups[static_cast<std::size_t>(tile.group)];
    for (const ParamTensor& tensor : group.tensors) {
      const std::int64_t from = std::max(tile.first, tensor.offset);
      const std::int64_t to =
          std::min(tile.first + tile.elements, tensor.offset + tensor.shape.elements());
      for (std::int64_t at = from; at < to; at += most_) {
        const std::int64_t count = std::min(most_, to - at);
        const ChunkWriter::Place place = append_(tile, at - tile.first, count);
        state_of(tensor, tile.state)
            .pieces.push_back({.box = whole_box(tensor.shape),
                               .first = at - tensor.offset,
                               .elements = count,
                               .at = place.at,
                               .checksum = place.checksum});
      }
    }
  }

  ChunkPart finish() { return std::move(part_); }

 private:
  StateEntry& state_of(const ParamTensor& tensor, int state) {
    const auto [found, is_new] = places_.try_emplace(tensor.name, part_.tensors.size());
    if (is_new) part_.tensors.push_back({.name = tensor.name, .shape = extents_of(tensor.shape)});
    std::vector<StateEntry>& states = part_.tensors[found->second].states;
    const std::string_view name = kStateNames[static_cast<std::size_t>(state)];
    const auto known = std::ranges::find(states, name, &StateEntry::name);
    if (known != states.end()) return *known;
    return states.emplace_back(StateEntry{.name = std::string(name), .held = held_});
  }

  const Program& program_;
  const StateClass held_;
  const Append append_;
  const std::int64_t most_;  // elements of a piece
  ChunkPart part_;
  std::map<std::string, std::size_t> places_;  // index in part_.tensors
};

}  // namespace

std::int64_t piece_elements(const Program& program) {
  std::int64_t elements = 0;
  for (const ParamGroup& group : program.groups)
    elements += group.elements * (group.trains ? std::ssize(kStateNames) : 1);
  const auto share = static_cast<std::uint64_t>(elements) * sizeof(float) / kManyPieces;
  const auto bytes = static_cast<std::int64_t>(std::bit_floor(share));
  return std::clamp(bytes, kSmallPieceBytes, kPieceBytes) /
         static_cast<std::int64_t>(sizeof(float));
}

ChunkPart write_states(const StatesToSave& states, ChunkWriter& chunk,
                       std::span<std::byte> buffer) {
  TileBytes bytes(states, buffer);
  const auto append = [&](const SavedTile& tile, std::int64_t at, std::int64_t count) {
    return chunk.append(bytes.take(tile, at, count));
  };
  PartCutter cutter(states.program, states.held, append);
  for (const SavedTile& tile : states.tiles) cutter.cut(tile);
  bytes.release();
  return cutter.finish();
}

ChunkPart layout_of(const Program& program, const ShardSpec& spec) {
  std::int64_t end = 0;
  const auto append = [&](const SavedTile&, std::int64_t, std::int64_t count) {
    const std::int64_t at = ChunkWriter::place_after(end, count * size_of(DType::f32));
    end = at + count * size_of(DType::f32);
    return ChunkWriter::Place{.at = at};
  };
  PartCutter cutter(program, class_of(spec), append);
  for (const SavedTile& tile : saved_tiles(program, spec)) cutter.cut(tile);
  ChunkPart part = cutter.finish();
  part.rank = spec.rank;
  part.chunk = {.name = chunk_name(spec.rank), .bytes = end};
  return part;
}

std::vector<std::int64_t> extents_of(const Shape& shape) {
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < shape.axes(); ++axis) extents.push_back(shape[axis]);
  return extents;
}

StateClass class_of(const ShardSpec& spec) {
  return spec.stage == 0 ? StateClass::replicated : StateClass::sharded;
}

std::vector<TensorEntry> saved_tensors(const Program& program, const ShardSpec& spec) {
  std::vector<TensorEntry> tensors;
  for (const ParamGroup& group : program.groups) {
    for (const ParamTensor& tensor : group.tensors) {
      TensorEntry& entry =
          tensors.emplace_back(TensorEntry{.name = tensor.name, .shape = extents_of(tensor.shape)});
      for (const std::string_view name : kStateNames) {
        if (name == kMoment2 && !spec.update.has_two_moments()) continue;
        if (name != kMaster && !group.trains) continue;
        entry.states.push_back({.name = std::string(name), .held = class_of(spec)});
      }
    }
  }
  return tensors;
}

}  // namespace ds
