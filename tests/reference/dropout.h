// Naive dropout from the definition in engine/kernels/ops_attention.h: scalar, one element at a
// time.
#pragma once

#include "engine/tensor/philox.h"
#include "reference/ops.h"

namespace ds::reference {

struct DropoutNumbers {
  std::uint64_t seed, key, step;
  double rate;
};

/// Returns 0 or 1 / (1 - rate) for one element of one sample.
inline double dropout_factor(const DropoutNumbers& d, std::uint64_t sample, std::uint64_t element) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x & 0xFFFFFFFFU); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x / 0x100000000U); };
  const auto key =
      philox({low(d.key), high(d.key), low(d.step), high(d.step)}, {low(d.seed), high(d.seed)});
  const std::uint64_t counter = element / 64 * 16 + element % 16;
  const auto words =
      philox({low(counter), high(counter), low(sample), high(sample)}, {key[0], key[1]});
  const std::uint32_t fraction = words[element / 16 % 4] / 256;
  return static_cast<double>(fraction) / 0x1p24 < d.rate ? 0 : 1 / (1 - d.rate);
}

/// Returns the factors of attention's probabilities, (B, H, T, S).
inline Values attention_factors(const DropoutNumbers& d, const AttentionShape& s,
                                const std::vector<std::int64_t>& samples) {
  Values factors;
  const Index padded = (s.keys() + 63) / 64 * 64;
  for (Index b = 0; b < s.batch; ++b) {
    for (Index h = 0; h < s.heads; ++h) {
      for (Index q = 0; q < s.time; ++q) {
        for (Index k = 0; k < s.keys(); ++k) {
          const Index element = (h * s.time + q) * padded + k;
          factors.push_back(dropout_factor(d, static_cast<std::uint64_t>(samples[b]), element));
        }
      }
    }
  }
  return factors;
}

}  // namespace ds::reference
