// Sizes of attention and the scratch that each thread needs for one (sequence, head).
#pragma once

#include <algorithm>

#include "engine/kernels/cpu/context.h"

namespace ds::cpu {

inline constexpr std::int64_t kAttentionBlock = kPanel;  // query rows and key columns of one block
// Queries of one tile, at most. The tiles of a pass stay in the second-level cache.
inline constexpr std::int64_t kQueries = 4 * kAttentionBlock;

struct AttentionSizes {
  // groups: heads of keys and of values; keys: positions of each, S
  std::int64_t batch, heads, groups, time, keys, depth;
  bool cross;  // the keys are another tensor's
  DType type;
  const PackKernels& pack;
  Operand operand;

  AttentionSizes(const Context& c, DType act, std::int64_t b, std::int64_t h, std::int64_t g,
                 std::int64_t t, std::int64_t s, std::int64_t d, bool other_keys)
      : batch(b),
        heads(h),
        groups(g),
        time(t),
        keys(s),
        depth(d),
        cross(other_keys),
        type(act),
        pack(c.pack(act)),
        operand(c.operand(act)) {}

  [[nodiscard]] std::int64_t even(std::int64_t k) const {  // bf16 operands are stored in pairs
    return pack.element_bytes == 2 ? round_up(k, 2) : k;
  }
  [[nodiscard]] std::int64_t query_blocks() const { return ceil_div(time, kAttentionBlock); }
  [[nodiscard]] std::int64_t key_blocks() const { return ceil_div(keys, kAttentionBlock); }
  /// Returns how many queries are processed at once.
  [[nodiscard]] std::int64_t queries() const {
    return std::min(kQueries, round_up(time, kAttentionBlock));
  }
  [[nodiscard]] std::int64_t queries_of(std::int64_t block) const {
    return std::min(kAttentionBlock, time - block * kAttentionBlock);
  }
  [[nodiscard]] std::int64_t keys_of(std::int64_t block) const {
    return std::min(kAttentionBlock, keys - block * kAttentionBlock);
  }
  /// "by time": (depth, keys) as panels of 64 positions. "by depth": (keys, depth) as panels of 64
  /// columns of depth.
  [[nodiscard]] std::int64_t by_time_bytes() const { return key_blocks() * time_panel_bytes(); }
  [[nodiscard]] std::int64_t time_panel_bytes() const {
    return round_up(even(depth), pack.k_multiple) * kPanel * pack.element_bytes;
  }
  [[nodiscard]] std::int64_t depth_panels() const { return ceil_div(depth, kPanel); }
  [[nodiscard]] std::int64_t depth_panel_bytes() const {
    return round_up(even(keys), pack.k_multiple) * kPanel * pack.element_bytes;
  }
  [[nodiscard]] std::int64_t by_depth_bytes() const { return depth_panels() * depth_panel_bytes(); }
  /// Block of 64 rows of (time, depth), transposed.
  [[nodiscard]] std::int64_t transposed_bytes() const {
    return depth * even(kAttentionBlock) * pack.element_bytes;
  }
  [[nodiscard]] std::int64_t rows_bytes() const { return time * even(depth) * pack.element_bytes; }
  /// Returns whether oneDNN can read rows from memory without a copy.
  [[nodiscard]] bool direct() const {
    return even(depth) == depth && pack.element_bytes == size_of(type);
  }
};

/// Scratch of one thread, for one (sequence, head).
struct AttentionPieces {
  KeyInterval* seen;   // of every query: the keys that it sees
  KeyInterval* spans;  // of every block of queries: from the first to the last key that one sees
  std::byte *onednn, *q_rows, *dout_rows;
  std::byte *q_transposed, *dout_transposed;  // blocks of 64 queries
  std::byte *k_by_time, *v_by_time, *k_by_depth, *v_by_depth;
  std::byte* rows;     // p (forward) or ds (backward) of (kQueries, 64 keys)
  std::byte *p, *ds;   // the same as panels of kQueries rows
  float *scores, *dp;  // (kQueries, kPanel)
  float* out;  // forward: (depth panel, kQueries, kPanel); backward: dq, (depth panel, T, kPanel)
  float *top, *total, *rescale;  // of kQueries
  float* delta;                  // of all queries
  float *dk, *dv;  // transposed blocks of 64 keys, (depth, kPanel): of all keys where query heads
                   // share them

  AttentionPieces(Scratch& scratch, const AttentionSizes& s, bool backward) {
    const auto bytes = [&](bool wanted, std::int64_t n) {
      return scratch.take<std::byte>(wanted ? n : 0);
    };
    const auto floats = [&](bool wanted, std::int64_t n) {
      return scratch.take<float>(wanted ? n : 0);
    };
    seen = scratch.take<KeyInterval>(s.time);
    spans = scratch.take<KeyInterval>(s.query_blocks());
    onednn = bytes(true, kOneDnnScratchBytes);
    q_rows = bytes(!s.direct(), s.rows_bytes());
    dout_rows = bytes(backward, s.rows_bytes());
    q_transposed = bytes(backward, s.query_blocks() * s.transposed_bytes());
    dout_transposed = bytes(backward, s.query_blocks() * s.transposed_bytes());
    k_by_time = bytes(true, s.by_time_bytes());
    v_by_time = bytes(backward, s.by_time_bytes());
    k_by_depth = bytes(backward, s.by_depth_bytes());
    v_by_depth = bytes(!backward, s.by_depth_bytes());
    const std::int64_t queries = s.queries(), tile = queries * kPanel;
    rows = bytes(true, tile * s.pack.element_bytes);
    p = bytes(backward, tile * s.pack.element_bytes);
    ds = bytes(backward, tile * s.pack.element_bytes);
    scores = floats(true, tile);
    dp = floats(backward, tile);
    out = floats(true, s.depth_panels() * (backward ? s.time : queries) * kPanel);
    top = floats(!backward, queries);
    total = floats(!backward, queries);
    rescale = floats(!backward, queries);
    delta = floats(backward, s.time);
    const std::int64_t sums = (s.groups == s.heads ? 1 : s.key_blocks()) * s.depth * kPanel;
    dk = floats(backward, sums);
    dv = floats(backward, sums);
  }
};

}  // namespace ds::cpu
