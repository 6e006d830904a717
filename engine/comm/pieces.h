// cut_pieces(): cuts memory into adjacent pieces.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/base/error.h"

namespace ds {

/// Returns `count` pieces of equal length.
template <class Byte>
std::vector<std::span<Byte>> cut_pieces(std::span<Byte> all, std::size_t count) {
  DS_ASSERT(count > 0 && all.size() % count == 0);
  std::vector<std::span<Byte>> pieces(count);
  for (std::size_t i = 0; i < count; ++i)
    pieces[i] = all.subspan(i * (all.size() / count), all.size() / count);
  return pieces;
}

}  // namespace ds
