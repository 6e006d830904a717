// What the writing and the reading of manifests share: fixed words, names of enums, the seal.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "engine/checkpoint/manifest.h"

namespace ds {

inline constexpr std::string_view kManifestFormat = "dslaunch checkpoint";
inline constexpr std::string_view kPartFormat = "dslaunch checkpoint part";

/// The last bytes of every text: the checksum of all bytes before kSealBefore stands between them.
inline constexpr std::string_view kSealBefore = "  \"checksum\": \"";
inline constexpr std::string_view kSealAfter = "\"\n}\n";
inline constexpr std::size_t kSealDigits = 32;

/// XXH3-128 as 32 digits, the high half first.
std::string checksum_of_text(std::string_view text);

/// By rank, box offset, first, as a reader searches them.
void sort_pieces(StateEntry& state);

inline constexpr std::array<std::string_view, 3> kClassNames{"sharded", "replicated", "per_rank"};
constexpr std::string_view name_of(StateClass held) {
  return kClassNames[static_cast<std::size_t>(held)];
}

}  // namespace ds
