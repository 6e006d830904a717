// The tensors of a checkpoint, block by block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/manifest.h"

namespace ds {

/// Tensors whose names begin alike up to a number: "h.0"; others stand alone, without a name.
struct TensorBlock {
  std::string name{};
  std::string last{};  // of blocks folded into this one: the last one's name; else empty
  int count = 1;       // of these
  std::vector<const TensorEntry*> tensors{};  // of the first one
};

/// In the manifest's order. `fold`: neighbours with the same tensors (names, shapes, states) become
/// one. Pure; the manifest must outlive it.
std::vector<TensorBlock> blocks_of(const Manifest& manifest, bool fold);

/// "h.0.attn.c_attn.weight" -> "h.0"; empty without a number between dots.
std::string_view block_of(std::string_view tensor);

std::int64_t elements_of(const TensorEntry& tensor);
/// Of all its pieces.
std::int64_t bytes_of(const StateEntry& state);
std::int64_t bytes_of(const TensorEntry& tensor);
std::int64_t pieces_of(const TensorEntry& tensor);

/// "64 x 192".
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace ds
