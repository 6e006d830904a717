#include "engine/keep/piece_moves.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"

namespace ds {
namespace {

/// Counts the bytes of each rank and returns the rank of a node that has the fewest.
class RankLoads {
 public:
  explicit RankLoads(std::span<const int> nodes) : bytes_(nodes.size()) {
    for (std::size_t rank = 0; rank < nodes.size(); ++rank)
      ranks_[nodes[rank]].push_back(static_cast<int>(rank));
  }
  int least_of(int node) const {
    const auto found = ranks_.find(node);
    DS_ASSERT(found != ranks_.end(), "only nodes with ranks describe what they keep");
    return *std::ranges::min_element(
        found->second, {}, [&](int rank) { return bytes_[static_cast<std::size_t>(rank)]; });
  }
  void add(int rank, std::int64_t bytes) { bytes_[static_cast<std::size_t>(rank)] += bytes; }

 private:
  std::map<int, std::vector<int>> ranks_;  // by node
  std::vector<std::int64_t> bytes_;        // by rank
};

/// Returns, for each node, the pieces that a rank of it needs.
std::map<int, std::vector<bool>> needs_of_nodes(const MoveRequest& request) {
  std::map<int, std::vector<bool>> needs;
  for (std::size_t rank = 0; rank < request.nodes.size(); ++rank) {
    std::vector<bool>& of_node = needs[request.nodes[rank]];
    of_node.resize(request.pieces.size());
    for (std::size_t i = 0; i < request.pieces.size(); ++i)
      if (request.needed[rank][i]) of_node[i] = true;
  }
  return needs;
}

}  // namespace

std::vector<PieceAt> pieces_of(const Manifest& manifest) {
  std::vector<PieceAt> pieces;
  for (const TensorEntry& tensor : manifest.tensors)
    for (const StateEntry& state : tensor.states)
      for (const Piece& piece : state.pieces)
        pieces.push_back({piece.chunk, piece.at, piece.elements * size_of(state.dtype)});
  return pieces;
}

std::vector<PieceMove> plan_moves(const MoveRequest& request) {
  RankLoads sent(request.nodes), received(request.nodes);
  std::vector<PieceMove> moves;
  for (const auto& [node, needed] : needs_of_nodes(request)) {
    std::map<int, int> receivers;  // by chunk
    for (std::size_t i = 0; i < request.pieces.size(); ++i) {
      const PieceAt& piece = request.pieces[i];
      if (!needed[i]) continue;
      const KeptPlace& place = request.step.place_for(static_cast<std::size_t>(piece.chunk), node);
      if (place.node == node) continue;
      const auto [to, is_new] = receivers.try_emplace(piece.chunk, 0);
      if (is_new) to->second = received.least_of(node);
      const int from = sent.least_of(place.node);
      sent.add(from, piece.bytes);
      received.add(to->second, piece.bytes);
      moves.push_back({.piece = i, .from = from, .to = to->second});
    }
  }
  return moves;
}

// A file for each chunk would need as many descriptors as the earlier epoch had ranks.
std::map<int, ReceivedChunk> received_chunks(const MoveRequest& request,
                                             std::span<const PieceMove> moves, int node) {
  std::map<int, ReceivedChunk> received;
  for (const PieceMove& move : moves)
    if (request.nodes[static_cast<std::size_t>(move.to)] == node)
      received[request.pieces[move.piece].chunk].rank = move.to;
  std::map<int, std::int64_t> ends;  // of the files, by rank
  for (auto& [chunk, place] : received) {
    std::int64_t& end = ends[place.rank];
    place.begin = end;
    end += request.step.manifest.chunks[static_cast<std::size_t>(chunk)].bytes;
  }
  return received;
}

}  // namespace ds
