// Broadcasts the path of the run's folder.
#include "engine/train/open_ledger.h"

#include <limits.h>

#include <algorithm>
#include <array>
#include <span>

#include "engine/base/error.h"

namespace ds {

std::unique_ptr<SampleLedger> open_ledger(const std::string& folder, StartVote& vote,
                                          Deadline deadline) {
  Group& world = vote.world();
  std::array<char, PATH_MAX> path{};
  // Rank 0 already has files in the folder, so its path is within the system's limit.
  DS_ASSERT(folder.size() < path.size());
  std::ranges::copy(folder, path.begin());
  world.about("folder of the run");
  world.broadcast(std::as_writable_bytes(std::span(path)), deadline);
  std::unique_ptr<SampleLedger> ledger;
  vote.together("start.ledger", [&](SaveOutcome&) {
    ledger = std::make_unique<SampleLedger>(path.data(), world.rank(), world.spec().epoch);
  });
  return ledger;
}

}  // namespace ds
