// All-gathers directly into the values, or through host memory where the host cannot reach them.
#include "engine/states/share_states.h"

#include <algorithm>
#include <vector>

#include "engine/states/saved_states.h"

namespace ds {
namespace {

// A long limit: ranks that make progress are waited for.
constexpr auto kTimeout = std::chrono::hours(1);
constexpr std::int64_t kStaged = 4 << 20;  // bytes of all ranks per round

class Sharing {
 public:
  Sharing(const Program& step, const Executor& executor, Group& world)
      : step_(step), executor_(executor), world_(world) {}

  /// Shares one value, which holds the group's elements from `first` on. `ranges`: of all ranks.
  void share(ValueId id, std::int64_t first, const std::vector<ElementRange>& ranges) {
    if (id == kNoValue || step_.value(id).tier == Tier::nvme) return;
    const Tensor values = executor_.tensor(id);
    const std::int64_t size = size_of(values.dtype);
    std::vector<std::span<std::byte>> pieces;
    for (const ElementRange& range : ranges) {
      const std::int64_t from = std::max(range.first, first);
      const std::int64_t to = std::min(range.last, first + values.elements());
      auto* const data = static_cast<std::byte*>(values.data) + (from - first) * size;
      pieces.emplace_back(from < to ? data : nullptr,
                          static_cast<std::size_t>(std::max<std::int64_t>(to - from, 0) * size));
    }
    world_.about("checkpoint.share");
    if (executor_.host_reaches(id)) return world_.all_gather(pieces, Deadline::after(kTimeout));
    share_staged(pieces);
  }

 private:
  void share_staged(const std::vector<std::span<std::byte>>& pieces) {
    const std::size_t part = static_cast<std::size_t>(kStaged) / pieces.size();
    std::size_t longest = 0;
    for (const std::span<std::byte> piece : pieces) longest = std::max(longest, piece.size());
    staging_.resize(part * pieces.size());
    for (std::size_t at = 0; at < longest; at += part) {
      std::vector<std::span<std::byte>> there, here;
      for (std::size_t r = 0; r < pieces.size(); ++r) {
        const std::size_t begin = std::min(at, pieces[r].size());
        there.push_back(pieces[r].subspan(begin, std::min(part, pieces[r].size() - begin)));
        here.push_back(std::span(staging_).subspan(r * part, there[r].size()));
      }
      const auto own = static_cast<std::size_t>(world_.rank());
      if (!there[own].empty()) executor_.copy_out(there[own].data(), here[own]);
      world_.all_gather(here, Deadline::after(kTimeout));
      for (std::size_t r = 0; r < pieces.size(); ++r) {
        if (r != own && !there[r].empty()) executor_.copy_in(here[r], there[r].data());
      }
    }
  }

  const Program& step_;
  const Executor& executor_;
  Group& world_;
  std::vector<std::byte> staging_;
};

}  // namespace

void share_states(const Program& step, const ShardSpec& spec, const Executor& executor,
                  Group& world, bool with_moments) {
  if (world.size() == 1) return;
  Sharing sharing(step, executor, world);
  for (const ParamGroup& group : step.groups) {
    std::vector<ElementRange> ranges;
    for (int rank = 0; rank < spec.world_size; ++rank)
      ranges.push_back(even_share(group, rank, spec.world_size));
    bool weights_are_master = false;
    for (const StateTile& tile : group.states) {
      if (spec.stage > 0) break;  // every rank has its own states
      weights_are_master = weights_are_master || tile.master == group.weights;
      sharing.share(tile.master, tile.first, ranges);
      if (!with_moments) continue;
      sharing.share(tile.moment1, tile.first, ranges);
      sharing.share(tile.moment2, tile.first, ranges);
    }
    if (!weights_are_master) sharing.share(group.weights, 0, ranges);
  }
}

}  // namespace ds
