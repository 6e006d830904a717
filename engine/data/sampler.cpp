// Sampler and Permutation: the Feistel network and the arithmetic of windows.
#include "engine/data/sampler.h"

#include <algorithm>
#include <bit>

#include "engine/base/error.h"

namespace ds {
namespace {

constexpr std::uint64_t kRounds = 6;

}  // namespace

std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

Permutation::Permutation(std::int64_t size, std::uint64_t key)
    : size_(static_cast<std::uint64_t>(size)), key_(key) {
  DS_ASSERT(size >= 1);
  half_bits_ = std::max(1, (static_cast<int>(std::bit_width(size_ - 1)) + 1) / 2);
}

std::int64_t Permutation::at(std::int64_t index) const {
  DS_ASSERT(index >= 0 && static_cast<std::uint64_t>(index) < size_);
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto value = static_cast<std::uint64_t>(index);
  do {  // terminates: `index` itself lies on the cycle; at most 4 rounds on average
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t turned =
          left ^ (mix_bits(key_ ^ mix_bits(right * kRounds + round)) & mask);
      left = right;
      right = turned;
    }
    value = left << half_bits_ | right;
  } while (value >= size_);
  return static_cast<std::int64_t>(value);
}

Sampler::Sampler(std::int64_t bytes, std::int64_t seq_len, std::uint64_t seed)
    : seq_len_(seq_len), seed_(seed) {
  DS_ASSERT(seq_len >= 1 && bytes > seq_len);
  // One window fewer than would fit, where possible, leaves room for every phase.
  windows_ = std::max<std::int64_t>(1, (bytes - seq_len) / seq_len);
  phases_ = std::min(seq_len, bytes - windows_ * seq_len);
}

Sampler Sampler::of_rows(std::int64_t rows, std::uint64_t seed) {
  DS_ASSERT(rows >= 1);
  Sampler sampler;
  sampler.windows_ = rows;
  sampler.seed_ = seed;
  return sampler;
}

std::int64_t Sampler::offset(std::int64_t sample) const {
  DS_ASSERT(sample >= 0);
  const auto epoch = static_cast<std::uint64_t>(sample / windows_);
  const std::uint64_t key = mix_bits(seed_ ^ mix_bits(epoch));
  const auto phase =
      static_cast<std::int64_t>(mix_bits(~key) % static_cast<std::uint64_t>(phases_));
  return phase + Permutation(windows_, key).at(sample % windows_) * seq_len_;
}

std::int64_t validation_offset(std::int64_t bytes, std::int64_t seq_len, std::int64_t index,
                               std::int64_t count) {
  DS_ASSERT(bytes > seq_len && index >= 0 && index < count);
  const std::int64_t last = bytes - seq_len - 1;
  if (count == 1) return last;
  const std::int64_t gaps = count - 1;  // in two parts, because last * index may overflow
  return last / gaps * index + last % gaps * index / gaps;
}

}  // namespace ds
