// Decides which pieces of a kept step move between ranks, and in which order. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/keep/choose_kept.h"

namespace ds {

/// A piece of a manifest without its tensor.
struct PieceAt {
  int chunk = 0;
  std::int64_t at = 0, bytes = 0;  // in the chunk
  friend bool operator==(const PieceAt&, const PieceAt&) = default;
};

/// Returns all pieces in the order of tensors, states and pieces: the numbering of PieceMove.
std::vector<PieceAt> pieces_of(const Manifest& manifest);

/// One piece from a rank whose node holds it to a rank whose node does not.
struct PieceMove {
  std::size_t piece = 0;
  int from = 0, to = 0;  // ranks
  friend bool operator==(const PieceMove&, const PieceMove&) = default;
};

struct MoveRequest {
  const KeptStep& step;
  std::span<const PieceAt> pieces{};            // pieces_of(step.manifest)
  std::span<const int> nodes{};                 // by rank
  std::span<const std::vector<bool>> needed{};  // by rank: for each piece, whether it is read
};

/// Returns the moves after which every rank finds each piece that it needs on its node. A piece
/// moves at most once to a node; all pieces of one chunk that a node lacks go to one of its ranks.
/// Among the ranks of a node, the one with the least bytes so far sends or receives. Every rank
/// computes the same list.
std::vector<PieceMove> plan_moves(const MoveRequest& request);

/// Where a node has a chunk of which it received pieces: in the one file of a rank, from byte
/// `begin` on.
struct ReceivedChunk {
  int rank = 0;
  std::int64_t begin = 0;
};

/// Returns, by chunk, where the ranks of `node` put what they receive. Every rank computes the
/// same.
std::map<int, ReceivedChunk> received_chunks(const MoveRequest& request,
                                             std::span<const PieceMove> moves, int node);

}  // namespace ds
