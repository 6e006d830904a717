// What writer and reader of manifests share: fixed words, names of enums, the seal.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "engine/checkpoint/manifest.h"

namespace ds {

inline constexpr std::string_view kManifestFormat = "dslaunch checkpoint";
inline constexpr std::string_view kPartFormat = "dslaunch checkpoint part";

/// The last bytes of every text; between them is the checksum of all bytes before kSealBefore.
inline constexpr std::string_view kSealBefore = "  \"checksum\": \"";
inline constexpr std::string_view kSealAfter = "\"\n}\n";
inline constexpr std::size_t kSealDigits = 32;

/// Returns XXH3-128 as 32 hexadecimal digits, high half first.
std::string checksum_of_text(std::string_view text);

/// Sorts by rank, box offset and first, the order in which readers search.
void sort_pieces(StateEntry& state);

inline constexpr std::array<std::string_view, 3> kClassNames{"sharded", "replicated", "per_rank"};
constexpr std::string_view name_of(StateClass held) {
  return kClassNames[static_cast<std::size_t>(held)];
}

}  // namespace ds
