// Manifests and parts as text, and back. Pure.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

/// JSON, one line a piece; its last member, "checksum", is XXH3-128 of all bytes before that line.
/// Errors: Error{system}: a number that is not finite.
std::string manifest_text(const Manifest& manifest);

/// A manifest that is whole, and of a version that only newer programs read. Nothing is broken: no
/// older checkpoint is taken in its place.
class NewerVersion : public Error {
 public:
  using Error::Error;
};

/// Everything is checked: checksum, version, types, numbers in range, names without '/', no piece
/// outside its box, its box outside its tensor, or its bytes outside its chunk, every state covered
/// once. Members and states that it does not know are no error. Pieces come in a fixed order.
/// Errors: Error{config}: what is wrong, without the file's name (the caller adds it);
/// NewerVersion says both versions and what to do.
Manifest parse_manifest(std::string_view text);

/// The same for one rank's part, which only the ranks of one save read.
std::string part_text(const ChunkPart& part);
ChunkPart parse_part(std::string_view text);

/// `head` has tensors with states and without pieces. Gives it the chunks and the pieces of all
/// parts; whether a state is sharded or replicated is what the head says. Errors: Error{system}: a
/// tensor that the head does not know, a state that is not covered once (naming tensor, state and
/// the first element that is missing or double).
Manifest join_parts(Manifest head, const std::vector<ChunkPart>& parts);

/// The first element of `state` that no piece covers, or that two cover, as text; empty: covered
/// once. Boxes that differ have no element in common, and each is covered by its own pieces. Of
/// per_rank states: for each rank that has any.
std::string uncovered(const TensorEntry& tensor, const StateEntry& state);

}  // namespace ds
