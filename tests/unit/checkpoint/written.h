// Writes checkpoints to disk whose every value is known.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/checkpoint/chunk_writer.h"
#include "engine/checkpoint/manifest_text.h"
#include "unit/checkpoint/folder.h"
#include "unit/checkpoint/samples.h"

namespace ds::test {

/// Returns the value of an element: exact in fp32, and different for every tensor, state, rank and
/// element.
inline float value_of(std::size_t tensor, std::size_t state, int rank, std::int64_t element) {
  const auto group = static_cast<std::int64_t>(tensor * 4 + state) * 8 + rank + 1;
  return static_cast<float>(element + group * 4096) * 0.25F;
}

/// Returns the index in its tensor of a box's element, computed axis by axis.
inline std::int64_t plain_element(const std::vector<std::int64_t>& shape, const Box& box,
                                  std::int64_t element) {
  std::vector<std::int64_t> point(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    point[axis] = box.offset[axis] + element % box.extent[axis];
    element /= box.extent[axis];
  }
  std::int64_t index = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) index = index * shape[axis] + point[axis];
  return index;
}

/// Writes chunks and manifest, and sets the places and checksums of the pieces.
inline void write_checkpoint(const std::string& folder, Manifest& manifest) {
  for (std::size_t chunk = 0; chunk < manifest.chunks.size(); ++chunk) {
    ChunkWriter writer({.path = folder + "/" + manifest.chunks[chunk].name});
    for (std::size_t t = 0; t < manifest.tensors.size(); ++t) {
      TensorEntry& tensor = manifest.tensors[t];
      for (std::size_t s = 0; s < tensor.states.size(); ++s) {
        for (Piece& piece : tensor.states[s].pieces) {
          if (piece.chunk != static_cast<int>(chunk)) continue;
          std::vector<float> values;
          for (std::int64_t i = piece.first; i < piece.first + piece.elements; ++i) {
            const std::int64_t element = plain_element(tensor.shape, piece.box, i);
            values.push_back(value_of(t, s, piece.rank, element));
          }
          const auto place = writer.append(std::as_bytes(std::span(values)));
          piece.at = place.at;
          piece.checksum = place.checksum;
        }
      }
    }
    manifest.chunks[chunk].bytes = writer.finish();
  }
  write_text(folder + "/manifest.json", manifest_text(manifest));
}

}  // namespace ds::test
