// MeshCollectives: groups for a job of several processes. Rendezvous at MASTER_ADDR:MASTER_PORT,
// then meshes of proven links.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/comm/mesh/door.h"
#include "engine/comm/mesh/hang_guard.h"
#include "engine/comm/mesh/peer_memory.h"
#include "engine/comm/mesh/store_client.h"
#include "engine/comm/rendezvous.h"

namespace ds::comm {

class MeshCollectives final : public Collectives {
 public:
  /// Serves the store on rank 0 and connects to it on all others. Errors: Error{comm} when the
  /// store does not answer in time, or refuses the job key or the job.
  explicit MeshCollectives(const Rendezvous& rendezvous);

  [[nodiscard]] int rank() const override { return rendezvous_.rank; }
  [[nodiscard]] int world_size() const override { return rendezvous_.world_size; }
  std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline deadline) override;
  std::unique_ptr<CallWatch> watch_calls(const GroupSpec& spec,
                                         std::function<void(const std::string&)> give_up) override;

  /// Where this rank listens; for tests.
  [[nodiscard]] Endpoint door() const { return door_->endpoint(); }

 private:
  struct Mesh;  // one group while it is being made
  void open_door_of_rank_0();
  void open_door_of_others();
  void list_members(const std::string& name, const GroupSpec& spec, Deadline deadline);
  void dial_earlier_members(Mesh& mesh);
  void await_later_members(Mesh& mesh);
  [[nodiscard]] std::vector<PeerMemory> exchange_cards(Mesh& mesh, const OwnMemory& own);
  void tell_obstacle(const Mesh& mesh, int place, const PeerMemory& memory);
  [[nodiscard]] std::string job() const;
  [[nodiscard]] Invitation invitation_to(int rank, Deadline deadline);
  [[nodiscard]] std::vector<int> missing(const GroupSpec& spec, const std::string& mesh);

  const Rendezvous rendezvous_;
  std::unique_ptr<Door> door_;
  std::shared_ptr<StoreClient> store_;
  std::shared_ptr<HangGuard> guard_;
  std::map<std::string, int> meshes_made_;  // how many groups of that name and epoch were made here
  bool obstacle_told_ = false;
};

}  // namespace ds::comm
