// Philox4x32-10: four random words as a pure function of a counter and a key.
#pragma once

#include <array>
#include <cstdint>

namespace ds {

inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53U, kPhiloxMultiplier1 = 0xCD9E8D57U;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9U, kPhiloxWeyl1 = 0xBB67AE85U;
inline constexpr int kPhiloxRounds = 10;

/// Returns the words. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kPhiloxMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kPhiloxMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kPhiloxWeyl0;
    key[1] += kPhiloxWeyl1;
  }
  return counter;
}

}  // namespace ds
