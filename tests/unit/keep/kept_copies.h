// Random copies of kept shares on several nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/keep/choose_kept.h"
#include "unit/checkpoint/samples.h"

namespace ds::test {

/// All shares of one step and epoch.
struct KeptGroup {
  Manifest whole{};
  std::vector<KeptShare> shares{};  // by rank
};

/// Cuts a manifest into the shares of its ranks.
inline KeptGroup kept_group(Manifest whole, std::int64_t step, std::uint64_t epoch,
                            const std::string& run = "job") {
  whole.state.step = step;
  KeptGroup group{.whole = whole};
  const std::vector<ChunkPart> parts = take_apart(whole);
  for (const ChunkPart& part : parts) {
    KeptShare& share =
        group.shares.emplace_back(KeptShare{.run = run, .epoch = epoch, .head = whole, .part = part});
    share.head.saved_ms += part.rank;  // each rank has its own clock
    std::erase_if(share.part.tensors, [](TensorEntry& tensor) {
      std::erase_if(tensor.states, [](const StateEntry& state) { return state.pieces.empty(); });
      return tensor.states.empty();
    });
  }
  return group;
}

inline KeptCopy copy_of(const KeptShare& share, int node) {
  return {.node = node,
          .file = share.run + "-" + std::to_string(share.epoch) + "-" +
                  std::to_string(share.head.state.step) + "-" + std::to_string(share.part.rank),
          .share = share};
}

/// Puts each share on 0 to 2 of the nodes; `most_lost` shares at most are on none.
inline void scatter(Random& random, const KeptGroup& group, int nodes, bool may_lose,
                    std::vector<KeptCopy>& copies) {
  for (const KeptShare& share : group.shares) {
    const auto first = static_cast<int>(below(random, nodes));
    const std::int64_t count = may_lose && below(random, 6) == 0 ? 0 : 1 + below(random, 2);
    for (int i = 0; i < count && i < nodes; ++i)
      copies.push_back(copy_of(share, (first + i) % nodes));
  }
}

}  // namespace ds::test
