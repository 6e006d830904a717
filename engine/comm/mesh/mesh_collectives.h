// MeshCollectives: groups for a job of several processes. Ranks meet at the coordinator of rank 0
// (MASTER_ADDR:MASTER_PORT), then make meshes of proven links.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/comm/mesh/acceptor.h"
#include "engine/comm/mesh/coordinator_client.h"
#include "engine/comm/mesh/hang_guard.h"
#include "engine/comm/mesh/peer_memory.h"
#include "engine/comm/rendezvous.h"
#include "engine/comm/slow_wire.h"

namespace ds::comm {

/// Makes a group of one rank, which moves nothing.
std::unique_ptr<Group> make_single_group(const GroupSpec& spec);

class MeshCollectives final : public Collectives {
 public:
  /// Serves the coordinator on rank 0 and connects to it on all others. Errors: Error{comm} when
  /// rank 0 does not answer in time, or refuses the job key or the job.
  explicit MeshCollectives(const Rendezvous& rendezvous);

  [[nodiscard]] int rank() const override { return rendezvous_.rank; }
  [[nodiscard]] int world_size() const override { return rendezvous_.world_size; }
  std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline deadline) override;
  std::unique_ptr<CallWatch> watch_calls(const GroupSpec& spec, WatchedCalls calls) override;

  /// Where this rank accepts connections; for tests.
  [[nodiscard]] Endpoint endpoint() const { return acceptor_->endpoint(); }

 private:
  struct Mesh;  // one group while it is being made
  void start_rank_0();
  void join_rank_0();
  [[nodiscard]] Error without_rank_0(const Error& error) const;
  [[nodiscard]] std::string unique_name(const std::string& name);
  [[nodiscard]] std::vector<std::string> meet(const Mesh& mesh, const std::string& name,
                                              std::string_view card);
  [[nodiscard]] std::vector<UniqueFd> make_links(const Mesh& mesh,
                                                 const std::vector<std::string>& cards);
  [[nodiscard]] UniqueFd dial_member(const Mesh& mesh, int place, const std::string& card);
  [[nodiscard]] std::vector<PeerMemory> find_memories(const Mesh& mesh, const MemoryCard& own,
                                                      const std::vector<std::string>& cards);

  const Rendezvous rendezvous_;
  const Membership membership_;
  std::unique_ptr<Acceptor> acceptor_;
  std::shared_ptr<CoordinatorClient> coordinator_;
  std::shared_ptr<HangGuard> guard_;
  const std::shared_ptr<SlowWire> wire_;
  std::map<std::string, int> made_;  // how many groups of that name and epoch were made here
  bool obstacle_told_ = false;
};

}  // namespace ds::comm
