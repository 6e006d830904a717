// Digest of a file's bytes: XXH3 with 128 bits, which reads memory at its full speed.
//
// TLS and ssh protect the bytes in transit; the digest finds files that differ, broken copies and
// changed sources. The seed is new for each copy, so that nobody can prepare two files that look
// equal.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <memory>
#include <span>

#include "launcher/wire/copy_messages.h"

namespace ds::launcher::copy {

class Hasher {
 public:
  explicit Hasher(std::uint64_t seed = 0) : state_(XXH3_createState()) {
    XXH3_128bits_reset_withSeed(state_.get(), seed);
  }
  void add(std::span<const std::byte> bytes) {
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  }
  [[nodiscard]] Digest digest() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return {hash.low64, hash.high64};
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

}  // namespace ds::launcher::copy
