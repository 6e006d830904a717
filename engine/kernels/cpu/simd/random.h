// Random numbers in lanes: Philox, normal numbers, and the elements that a dropout keeps.
#pragma once

#include "engine/kernels/cpu/simd/tile.h"
#include "engine/tensor/philox.h"

namespace ds::DS_LANES {

inline void philox_lanes(U32 (&counter)[4], std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    U32 high0, low0, high1, low1;
    multiply(counter[0], broadcast(kPhiloxMultiplier0), high0, low0);
    multiply(counter[2], broadcast(kPhiloxMultiplier1), high1, low1);
    counter[0] = high1 ^ counter[1] ^ broadcast(key0);
    counter[1] = low1;
    counter[2] = high0 ^ counter[3] ^ broadcast(key1);
    counter[3] = low0;
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
}

inline void normal_block(std::uint64_t block, std::uint64_t seed, std::uint64_t key, float mean,
                         float deviation, float* out) {
  static constexpr std::uint32_t kIndex[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};
  const std::uint64_t first = block * 16;
  U32 words[4] = {broadcast(static_cast<std::uint32_t>(first)) + load(kIndex),
                  broadcast(static_cast<std::uint32_t>(first >> 32)),
                  broadcast(static_cast<std::uint32_t>(key)),
                  broadcast(static_cast<std::uint32_t>(key >> 32))};
  philox_lanes(words, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  F32 normal[4];
  NormalNumbers<Lanes>::normal_pair(words[0], words[1], normal[0], normal[1]);
  NormalNumbers<Lanes>::normal_pair(words[2], words[3], normal[2], normal[3]);
  alignas(64) float columns[4][16];
  for (int j = 0; j < 4; ++j) {
    store(columns[j], fma(normal[j], broadcast(deviation), broadcast(mean)));
  }
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 4; ++j) out[4 * i + j] = columns[j][i];
  }
}

/// Computes the random words of a dropout's elements 64 * group ... 64 * group + 63. Lane i of
/// words[j] belongs to element 64 * group + 16 * j + i.
DS_LANES_INLINE void dropout_words(const cpu::DropoutKey& key, std::uint64_t group,
                                   U32 (&words)[4]) {
  static constexpr std::uint32_t kIndex[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};
  const std::uint64_t first = group * 16;
  words[0] = broadcast(static_cast<std::uint32_t>(first)) + load(kIndex);
  words[1] = broadcast(static_cast<std::uint32_t>(first >> 32));
  words[2] = broadcast(static_cast<std::uint32_t>(key.sample));
  words[3] = broadcast(static_cast<std::uint32_t>(key.sample >> 32));
  philox_lanes(words, key.philox[0], key.philox[1]);
}
/// Returns x scaled where the upper 24 bits of its word reach the threshold, else 0 (also if x is
/// not finite).
DS_LANES_INLINE F32 drop(const cpu::DropoutKey& key, U32 words, F32 x) {
  return select_less(to_f32(shift_right<8>(words)), broadcast(key.threshold), broadcast(0.0F),
                     x * broadcast(key.scale));
}

}  // namespace ds::DS_LANES
