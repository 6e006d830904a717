// Tiny checkpoint saved as ranks save it, with values that identify the step, and its check.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/chunk_writer.h"
#include "engine/checkpoint/reader.h"
#include "engine/checkpoint/save_folder.h"
#include "engine/checkpoint/save_names.h"

namespace ds::test {

inline constexpr std::int64_t kSmallElements = 600;  // of its tensor, by all ranks together

inline float small_value(std::int64_t step, std::int64_t element) {
  return static_cast<float>(step * 1000 + element);
}

inline Manifest small_head(std::int64_t step, int world_size, Origin origin = {}) {
  Manifest head;
  head.state.step = step;
  head.state.next_sample = step * 8;
  head.world_size = world_size;
  head.program = "test";
  head.origin = std::move(origin);
  head.tensors = {{"w", {kSmallElements}, {{std::string(kMaster), DType::f32, {}, {}}}}};
  return head;
}

/// Writes and syncs one rank's chunk, and returns its part of the manifest.
inline ChunkPart write_small_chunk(const std::string& folder, std::int64_t step, int rank,
                                   int world_size) {
  const std::int64_t each = kSmallElements / world_size;
  std::vector<float> values;
  for (std::int64_t i = 0; i < each; ++i) values.push_back(small_value(step, rank * each + i));
  ChunkWriter writer({.path = folder + "/" + chunk_name(rank)});
  const ChunkWriter::Place place = writer.append(std::as_bytes(std::span(values)));
  Piece piece{{{0}, {kSmallElements}}, rank * each, each, 0, place.at, place.checksum, -1};
  ChunkPart part{rank, {chunk_name(rank), writer.finish()}, small_head(step, 1).tensors};
  part.tensors[0].states[0].pieces = {piece};
  return part;
}

/// Does everything that the ranks of a save do before rank 0 commits it.
inline void publish_small(const SaveFolder& folder, std::int64_t step, int world_size) {
  for (int rank = 0; rank < world_size; ++rank) {
    const std::string path = folder.begin(step);
    folder.publish(step, write_small_chunk(path, step, rank, world_size));
  }
}

inline Manifest save_small(const SaveFolder& folder, std::int64_t step, int world_size = 2,
                           const Origin& origin = {}) {
  publish_small(folder, step, world_size);
  return folder.commit(small_head(step, world_size, origin));
}

/// Whether every element is what was saved at the step that the manifest says. Errors: the
/// reader's.
inline bool is_whole(const std::shared_ptr<const Checkpoint>& checkpoint) {
  std::vector<float> values(static_cast<std::size_t>(kSmallElements));
  PieceReader(checkpoint).read("w", kMaster, 0, values);
  for (std::int64_t i = 0; i < kSmallElements; ++i) {
    const std::int64_t step = checkpoint->manifest().state.step;
    if (values[static_cast<std::size_t>(i)] != small_value(step, i)) return false;
  }
  return true;
}

}  // namespace ds::test
