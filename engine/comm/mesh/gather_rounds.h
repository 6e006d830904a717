// Rounds of an all_gather of short pieces: every rank sends log2(N) messages instead of N - 1
// (Bruck et al., "Efficient algorithms for all-to-all communications", 1997). Pure.
#pragma once

#include <vector>

namespace ds::comm {

/// What a rank does in one round. Ranks and pieces are counted from its own one, modulo the size of
/// the group.
struct GatherRound {
  int send_to = 0, receive_from = 0;
  int pieces = 0;  // sends its pieces 0 to pieces - 1; receives those after receive_from
};

/// Returns the rounds for a group of `size` ranks; the same for each rank. Before round i a rank
/// has the pieces 0 to 2^i - 1.
inline std::vector<GatherRound> gather_rounds(int size) {
  std::vector<GatherRound> rounds;
  for (int has = 1; has < size; has *= 2) {
    rounds.push_back({.send_to = size - has,
                      .receive_from = has,
                      .pieces = has < size - has ? has : size - has});
  }
  return rounds;
}

}  // namespace ds::comm
