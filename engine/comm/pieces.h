// cut_pieces(): cuts memory into adjacent pieces.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/base/error.h"

namespace ds {

/// Returns one piece per entry of `bytes`, which add up to the size of `all`.
template <class Byte>
std::vector<std::span<Byte>> cut_pieces(std::span<Byte> all, std::span<const std::size_t> bytes) {
  std::vector<std::span<Byte>> pieces;
  pieces.reserve(bytes.size());
  for (const std::size_t size : bytes) {
    DS_ASSERT(size <= all.size());
    pieces.push_back(all.first(size));
    all = all.subspan(size);
  }
  DS_ASSERT(all.empty());
  return pieces;
}

/// Returns `count` pieces of equal length.
template <class Byte>
std::vector<std::span<Byte>> cut_pieces(std::span<Byte> all, std::size_t count) {
  return cut_pieces(all, std::vector<std::size_t>(count, all.size() / count));
}

}  // namespace ds
