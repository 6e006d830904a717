// KeptMemory: the steps that the nodes of a job keep, and the exchange by which ranks read them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/checkpoint/reader.h"
#include "engine/comm/collectives.h"
#include "engine/keep/choose_kept.h"
#include "engine/keep/node_store.h"
#include "engine/keep/piece_moves.h"

namespace ds {

/// Every rank makes one and makes the same calls. Calls marked collective have deadlines, and their
/// errors name the rank that is waited for and the stage ("kept.describe", "kept.move").
class KeptMemory {
 public:
  /// `store`: null if this rank has no agent. `node`: the same text for ranks of one node, and of
  /// no other node. Asks all nodes what they keep of `run` and chooses. Collective. Errors:
  /// Error{comm}.
  KeptMemory(Group& world, std::unique_ptr<NodeStore> store, const std::string& node,
             const std::string& run);
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  /// Returns the newest complete step that was not given up; null: none.
  [[nodiscard]] const KeptStep* step() const;
  /// As KeptChoice::incomplete.
  [[nodiscard]] const std::string& incomplete() const { return choice_.incomplete; }
  /// Returns why agents did not answer, and which files cannot be used, for people.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  /// Moves pieces of step() so that this rank can read those in `needed`, which are numbered as
  /// pieces_of(). Bytes are not verified; readers do that. Collective. Errors: Error{comm};
  /// Error{system} if this rank has no memory for them, after its part in the exchange.
  std::shared_ptr<const Checkpoint> fetch(const std::vector<bool>& needed);
  /// Returns the bytes that the last fetch() moved between nodes, of all ranks.
  [[nodiscard]] std::int64_t moved_bytes() const { return moved_bytes_; }

  /// Tells the others what this rank could not read: a chunk of step(), -1: nothing was broken, or
  /// -2: the step cannot be used. The places that they read are not used again; a step of which a
  /// chunk has no place left is given up. Returns lines for people. Collective. Errors:
  /// Error{comm}.
  std::vector<std::string> report_broken(int chunk);
  static constexpr int kNotBroken = -1, kUnusable = -2;

  /// Returns the bytes of memory that the agent of this node holds, of all its ranks.
  [[nodiscard]] std::int64_t held_bytes() const;
  /// Lets the node keep nothing but step(), with which all ranks go on: what they keep next needs
  /// the room.
  void drop_other_steps();
  /// Lets the node keep nothing: all ranks began with other states.
  void drop_all();

  /// Frees what fetch() has received. The checkpoint that it returned is not used afterwards.
  void release();

 private:
  std::vector<std::vector<bool>> exchange_needs(const std::vector<bool>& needed);
  void number_nodes(const std::string& own);
  void describe();
  [[nodiscard]] bool describes() const;  // the first rank of its node
  [[nodiscard]] std::vector<KeptCopy> own_copies(std::string& problems) const;
  void drop_all_but(const std::set<std::string>& used);
  void note_failure(std::string why);
  void open_received();
  void move(const std::vector<PieceMove>& moves, const std::vector<PieceAt>& pieces);
  void share_received(const std::vector<PieceMove>& moves,
                      const std::vector<std::vector<bool>>& needs);
  [[nodiscard]] std::shared_ptr<const Checkpoint> checkpoint() const;
  [[nodiscard]] std::string received_name(int rank) const;
  [[nodiscard]] const UniqueFd* file_of(const std::string& name) const;

  Group& world_;
  const std::unique_ptr<NodeStore> store_;
  const std::string run_;
  std::vector<int> nodes_;               // by rank: number of its node, from 0
  std::vector<std::string> node_names_;  // by number
  int node_ = 0;                         // of this rank
  std::vector<KeptFile> files_;
  KeptChoice choice_;
  std::size_t current_ = 0;  // index of step() in choice_.steps
  std::vector<std::string> problems_;
  std::map<int, ReceivedChunk> chunks_;  // received by this node, by number
  std::optional<KeptFile> received_;     // of this rank
  bool is_handed_in_ = false;            // received_, to the agent
  std::vector<KeptFile> siblings_;       // with what other ranks of the node received
  std::int64_t moved_bytes_ = 0;
  std::string failure_;  // the first one of this rank in fetch()
};

}  // namespace ds
