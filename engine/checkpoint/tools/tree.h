// Groups the tensors of a checkpoint into blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/manifest.h"

namespace ds {

/// Tensors whose names share a prefix up to a number ("h.0"). Other tensors form blocks without a
/// name.
struct TensorBlock {
  std::string name{};
  std::string last{};  // name of the last block folded into this one; else empty
  int count = 1;       // number of folded blocks
  std::vector<const TensorEntry*> tensors{};  // tensors of the first block
};

/// Returns the blocks in the manifest's order. With `fold`, neighbors with the same tensors (names,
/// shapes, states) become one. Pure; the manifest must outlive the result.
std::vector<TensorBlock> blocks_of(const Manifest& manifest, bool fold);

/// Returns the block's name: "h.0.attn.c_attn.weight" -> "h.0"; empty without a number between
/// dots.
std::string_view block_of(std::string_view tensor);

std::int64_t elements_of(const TensorEntry& tensor);
/// Sums of bytes over all pieces.
std::int64_t bytes_of(const StateEntry& state);
std::int64_t bytes_of(const TensorEntry& tensor);
std::int64_t pieces_of(const TensorEntry& tensor);

/// Returns "64 x 192".
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace ds
