// Every byte of a checkpoint against its checksum, by several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/checkpoint/manifest.h"

namespace ds {

/// A piece that is not what was written, or what no piece covers (then chunk is empty).
struct BrokenRange {
  std::string tensor{}, state{};
  std::int64_t first = 0, last = 0;  // elements of the piece's box; last is not in it
  std::string chunk{};
  std::int64_t from = 0, to = 0;  // bytes of the chunk
  std::string reason{};
  friend bool operator==(const BrokenRange&, const BrokenRange&) = default;
};

struct Verification {
  std::vector<BrokenRange> broken{};  // in the manifest's order
  std::int64_t bytes = 0;             // of all pieces
};

/// Called now and then by the caller's own thread.
using VerifyProgress = std::function<void(std::int64_t done, std::int64_t bytes)>;

/// The manifest of `folder`, verified by its own checksum. Errors: Error{config}: there is none, it
/// does not verify, is newer, or cannot be read.
Manifest read_manifest(const std::string& folder);

/// Reads all pieces; missing, short and unreadable chunks break their pieces, and no others.
/// Memory: kPieceBytes a thread.
Verification verify_pieces(const std::string& folder, const Manifest& manifest, int threads,
                           const VerifyProgress& progress);

/// What is still of use, in lines for people: states that are whole, tensors that are not.
std::vector<std::string> what_still_loads(const Manifest& manifest,
                                          const std::vector<BrokenRange>& broken);

}  // namespace ds
