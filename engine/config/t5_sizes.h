// The named sizes of T5 1.0 and 1.1. Flan-T5 has those of 1.1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace ds {

inline constexpr std::int64_t kT5Vocab = 32128;
inline constexpr double kT5NormEps = 1e-6;

/// 1.1 has a gated feed-forward layer, and a head of its own whose input is not scaled.
struct T5Size {
  std::string_view name;                               // without "t5-", "t5-v1.1-" or "flan-t5-"
  bool is_first;                                       // of T5 1.0
  std::int64_t layers, hidden, heads, head_size, ffn;  // both stacks have `layers`
};

inline constexpr T5Size kT5Sizes[] = {
    {"small", true, 6, 512, 8, 64, 2048},     {"base", true, 12, 768, 12, 64, 3072},
    {"large", true, 24, 1024, 16, 64, 4096},  {"3b", true, 24, 1024, 32, 128, 16384},
    {"11b", true, 24, 1024, 128, 128, 65536}, {"small", false, 8, 512, 6, 64, 1024},
    {"base", false, 12, 768, 12, 64, 2048},   {"large", false, 24, 1024, 16, 64, 2816},
    {"xl", false, 24, 2048, 32, 64, 5120},    {"xxl", false, 24, 4096, 64, 64, 10240},
};

/// Returns the size that a preset names; null for other models' presets.
inline const T5Size* t5_size(std::string_view preset) {
  bool is_first = false;
  if (preset.starts_with("t5-v1.1-") || preset.starts_with("flan-t5-")) {
    preset.remove_prefix(8);
  } else if (preset.starts_with("t5-")) {
    preset.remove_prefix(3);
    is_first = true;
  } else {
    return nullptr;
  }
  const auto* const found = std::ranges::find_if(kT5Sizes, [&](const T5Size& size) {
    return size.name == preset && size.is_first == is_first;
  });
  return found == std::end(kT5Sizes) ? nullptr : found;
}

}  // namespace ds
