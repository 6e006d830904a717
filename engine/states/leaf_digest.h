// LeafDigest: a hash of all master weights that ranks compute from their own parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ds {

/// Sum, modulo 2^128, of the hashes of leaves. The hash of a leaf depends on its content and its
/// number, so the sum has the same bits for any order and any division of the leaves, and a rank
/// sends 16 bytes. It detects changes, not forgery.
class LeafDigest {
 public:
  /// Adds leaf number `index`: XXH3 (128 bits) of its values with the number as seed.
  void add(std::uint64_t index, std::span<const float> values);
  void add(const LeafDigest& other);
  /// Returns 32 hexadecimal digits.
  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t low_ = 0, high_ = 0;
};

}  // namespace ds
