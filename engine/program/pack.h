// pack(): packs blocks of bytes with lives into one address range. Blocks whose lives meet never
// overlap.
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

/// Returns the alignment: on the device pages from 64 KiB on and 512 bytes below; elsewhere pages,
/// because files are read into that memory.
std::int64_t alignment_for(std::int64_t bytes, Tier tier);
inline std::int64_t round_up(std::int64_t bytes, std::int64_t to) {
  return (bytes + to - 1) / to * to;
}
std::int64_t end_of(const std::vector<Block>& placed);

/// Gives every block its offset and returns the blocks sorted by it. No order suits every program:
/// tries several and keeps the best result.
std::vector<Block> pack(const std::vector<Block>& blocks);

}  // namespace ds
