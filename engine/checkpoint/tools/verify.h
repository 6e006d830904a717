// Verifies every byte of a checkpoint against its checksum, with several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/checkpoint/manifest.h"

namespace ds {

/// A piece that does not verify, or a range that no piece covers (then `chunk` is empty).
struct BrokenRange {
  std::string tensor{}, state{};
  std::int64_t first = 0, last = 0;  // elements [first, last) of the piece's box
  std::string chunk{};
  std::int64_t from = 0, to = 0;  // bytes of the chunk
  std::string reason{};
  friend bool operator==(const BrokenRange&, const BrokenRange&) = default;
};

struct Verification {
  std::vector<BrokenRange> broken{};  // in the manifest's order
  std::int64_t bytes = 0;             // of all pieces
};

/// Receives the verified and the total bytes from time to time, on the caller's thread.
using VerifyProgress = std::function<void(std::int64_t done, std::int64_t bytes)>;

/// Returns the manifest of `folder`, verified by its own checksum. Errors: Error{config} if it is
/// missing, does not verify, is of a newer version, or cannot be read.
Manifest read_manifest(const std::string& folder);

/// Reads and verifies all pieces. A missing, short or unreadable chunk breaks only its own pieces.
/// Memory: kPieceBytes per thread.
Verification verify_pieces(const std::string& folder, const Manifest& manifest, int threads,
                           const VerifyProgress& progress);

/// Returns lines for the user about what is still usable: per state, the number of intact tensors.
std::vector<std::string> what_still_loads(const Manifest& manifest,
                                          const std::vector<BrokenRange>& broken);

}  // namespace ds
