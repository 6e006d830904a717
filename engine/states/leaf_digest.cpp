#include "engine/states/leaf_digest.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace ds {

void LeafDigest::add(std::uint64_t index, std::span<const float> values) {
  const XXH128_hash_t hash =
      XXH3_128bits_withSeed(values.data(), values.size_bytes(), static_cast<XXH64_hash_t>(index));
  LeafDigest leaf;
  leaf.low_ = hash.low64;
  leaf.high_ = hash.high64;
  add(leaf);
}

void LeafDigest::add(const LeafDigest& other) {
  low_ += other.low_;
  high_ += other.high_ + (low_ < other.low_ ? 1 : 0);
}

std::string LeafDigest::text() const { return fmt::format("{:016x}{:016x}", high_, low_); }

}  // namespace ds
