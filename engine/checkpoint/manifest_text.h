// Converts manifests and parts to text and back. Pure.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

/// Returns JSON with one line per piece. Its last member, "checksum", is XXH3-128 of all bytes
/// before that line. Errors: Error{system} for a number that is not finite.
std::string manifest_text(const Manifest& manifest);

/// An intact manifest of a version that only newer programs read. Since nothing is broken, no older
/// checkpoint is used instead.
class NewerVersion : public Error {
 public:
  using Error::Error;
};

/// Parses a manifest and checks everything: checksum, version, types, ranges of numbers, names
/// without '/', every piece within its box, box within its tensor, bytes within its chunk, every
/// state covered once. Unknown members and states are ignored. Pieces get a fixed order.
/// Errors: Error{config} with the problem, without the file's name, which the caller adds;
/// NewerVersion with both versions and what to do.
Manifest parse_manifest(std::string_view text);

/// The same for a manifest whose tensors have no pieces yet, or not all of them.
Manifest parse_head(std::string_view text);

/// The same for one rank's part, which only the ranks of one save read.
std::string part_text(const ChunkPart& part);
ChunkPart parse_part(std::string_view text);

/// Returns `head` with the chunks and pieces of all parts. `head` has tensors and states without
/// pieces, and decides whether a state is sharded or replicated. Errors: Error{system} for a tensor
/// that the head lacks, or a state that is not covered once (with tensor, state and the first
/// element that is missing or covered twice).
Manifest join_parts(Manifest head, const std::vector<ChunkPart>& parts);

/// Returns, as text, the first element of `state` that no piece or that two pieces cover; empty if
/// the state is covered once: distinct boxes do not overlap, and pieces cover each box. For
/// per_rank states this holds for each rank that has pieces.
std::string uncovered(const TensorEntry& tensor, const StateEntry& state);

}  // namespace ds
