// Chooses the collectives by the size of the world.
#include "engine/base/error.h"
#include "engine/comm/gloo/gloo_collectives.h"
#include "engine/comm/local/single.h"
#include "engine/comm/rendezvous.h"

namespace ds {

std::unique_ptr<Collectives> make_collectives(const Rendezvous& rendezvous) {
  DS_ASSERT(rendezvous.world_size >= 1 && rendezvous.rank >= 0 &&
            rendezvous.rank < rendezvous.world_size);
  if (rendezvous.world_size == 1) return std::make_unique<comm::SingleCollectives>();
  return std::make_unique<comm::GlooCollectives>(rendezvous);
}

}  // namespace ds
