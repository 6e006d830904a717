// Blocks of bytes with lives, packed into one address range: those whose lives meet never overlap.
#pragma once

#include <vector>

#include "engine/program/liveness.h"

namespace ds {

struct Block {
  ValueId id = kNoValue;
  Life life{};
  std::int64_t bytes = 0, offset = 0, alignment = 1;
  [[nodiscard]] std::int64_t end() const { return offset + bytes; }
};

inline constexpr std::int64_t kPage = 4096;

/// On the device pages from 64 KiB on, 512 bytes below; elsewhere pages: files are read into it.
std::int64_t alignment_for(std::int64_t bytes, Tier tier);
inline std::int64_t round_up(std::int64_t bytes, std::int64_t to) {
  return (bytes + to - 1) / to * to;
}
std::int64_t end_of(const std::vector<Block>& placed);

/// Gives every block its offset. No order is best for every program: the best of a few is taken.
/// Returned sorted by offset.
std::vector<Block> pack(const std::vector<Block>& blocks);

}  // namespace ds
