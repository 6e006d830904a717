// Short texts from every member of a group to all: exchange_notes(), and require_agreement(), which
// compares them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/comm/pieces.h"

namespace ds {

using Note = std::array<char, 500>;  // a text that ends with a zero byte

inline Note note_of(std::string_view text) {
  Note note{};
  text.copy(note.data(), note.size() - 1);
  return note;
}

/// Returns the texts by place; longer ones are cut. Collective.
inline std::vector<std::string> exchange_notes(Group& group, std::string_view own,
                                               Deadline deadline) {
  std::vector<Note> notes(static_cast<std::size_t>(group.size()));
  notes[static_cast<std::size_t>(group.rank())] = note_of(own);
  group.all_gather(cut_pieces(std::as_writable_bytes(std::span(notes)), notes.size()), deadline);
  std::vector<std::string> texts;
  for (const Note& note : notes) texts.emplace_back(note.data());
  return texts;
}

/// Compares a digest between all ranks of the group. Collective. `what` names the fact in messages
/// ("training plan", "build"); `digest` is its hash or id, cut as a note is.
/// Errors: Error{config} on every rank, naming the ranks that differ from the majority (from rank 0
/// where there is none) and both values.
void require_agreement(Group& group, const std::string& what, const std::string& digest,
                       Deadline deadline);

}  // namespace ds
