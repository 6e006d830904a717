// make_collectives(): chooses the collectives by the size of the world.
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/comm/mesh/mesh_collectives.h"
#include "engine/comm/rendezvous.h"

namespace ds {
namespace {

// The collectives of one process, without sockets.
class SingleCollectives final : public Collectives {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int world_size() const override { return 1; }
  std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline) override {
    DS_ASSERT(spec.ranks == std::vector<int>{0});
    return comm::make_single_group(spec);
  }
};

}  // namespace

std::unique_ptr<Collectives> make_collectives(const Rendezvous& rendezvous) {
  DS_ASSERT(rendezvous.world_size >= 1 && rendezvous.rank >= 0 &&
            rendezvous.rank < rendezvous.world_size);
  if (rendezvous.world_size == 1) return std::make_unique<SingleCollectives>();
  if (rendezvous.test_wire && rendezvous.rank == 0) {
    const WireSpeed& wire = *rendezvous.test_wire;
    fmt::print(stderr,
               "warning: the wire between ranks is slowed to {}/s and {:.3g} ms per operation "
               "(DSLAUNCH_TEST_WIRE)\n",
               format_bytes(static_cast<std::int64_t>(wire.bytes_per_second)),
               std::chrono::duration<double, std::milli>(wire.latency).count());
  }
  return std::make_unique<comm::MeshCollectives>(rendezvous);
}

}  // namespace ds
