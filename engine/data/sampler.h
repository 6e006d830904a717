// Sampler: which bytes belong to which sample, as pure functions of seed, sizes and sample number.
#pragma once

#include <cstdint>

namespace ds {

/// SplitMix64's finalizer: every input bit affects every output bit.
std::uint64_t mix_bits(std::uint64_t x);

/// A permutation of [0, size) that needs no memory: a Feistel network on the next power of four,
/// walked until the result is in range. `key` chooses the permutation. Source: Black and Rogaway,
/// "Ciphers with arbitrary finite domains", 2002 (cycle walking).
class Permutation {
 public:
  Permutation(std::int64_t size, std::uint64_t key);
  /// Returns the image of `index`. Both lie in [0, size); different indices have different images.
  [[nodiscard]] std::int64_t at(std::int64_t index) const;

 private:
  std::uint64_t size_, key_;
  int half_bits_;
};

/// Cuts `bytes` bytes into windows of `seq_len` tokens and one target. Every epoch has a new random
/// order and a new random phase, and contains each window once.
class Sampler {
 public:
  Sampler(std::int64_t bytes, std::int64_t seq_len, std::uint64_t seed);
  /// Orders `rows` samples that are given as they are; an offset is a row's number.
  static Sampler of_rows(std::int64_t rows, std::uint64_t seed);
  /// Number of windows in an epoch.
  [[nodiscard]] std::int64_t windows() const { return windows_; }
  /// Returns where sample number `sample` (from 0, without end) begins; offset + seq_len + 1 <=
  /// bytes.
  [[nodiscard]] std::int64_t offset(std::int64_t sample) const;

 private:
  Sampler() = default;
  std::int64_t seq_len_ = 1, windows_ = 1, phases_ = 1;
  std::uint64_t seed_ = 0;
};

/// How a step's samples are distributed. Depends on virtual ranks and not on the world size.
struct BatchPlan {
  std::int64_t micro = 1, accum = 1, virtual_ranks = 1;

  [[nodiscard]] std::int64_t global() const { return micro * accum * virtual_ranks; }
  /// Returns the number of sequence `b` of micro-batch `micro_step` of `virtual_rank` in `step`
  /// (from 0).
  [[nodiscard]] std::int64_t sample(std::int64_t step, std::int64_t micro_step,
                                    std::int64_t virtual_rank, std::int64_t b) const {
    return step * global() + (micro_step * virtual_ranks + virtual_rank) * micro + b;
  }
};

/// Returns the offset of validation window `index` of `count` evenly spaced ones; the last window
/// ends at the end of the text.
std::int64_t validation_offset(std::int64_t bytes, std::int64_t seq_len, std::int64_t index,
                               std::int64_t count);

}  // namespace ds
