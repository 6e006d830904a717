// Reduction in order "boundary": each virtual rank sums its micro-batches in order, then one tree
// sums the virtual ranks. A rank holds contiguous virtual ranks, so it forms most of the tree
// alone.
#include <algorithm>

#include "engine/program/ordered_tree.h"
#include "engine/program/step_builder.h"

namespace ds {
namespace {

class BoundaryReduction : public Reduction {
 public:
  explicit BoundaryReduction(StepBuilder& step)
      : step_(step), leaves_(step.spec.virtual_ranks), first_(first_of(step.spec.rank)) {
    for (int rank = 0; rank < step.spec.world_size; ++rank)
      roots_.push_back(maximal_subtrees(first_of(rank), first_of(rank + 1), leaves_));
    const int last = first_of(step.spec.rank + 1);
    // Where weights are gathered, all ranks take part in every turn. Idle turns come first, so that
    // the last turns, which reduce, are the same on all ranks.
    for (int idle = most_leaves() - (last - first_); idle > 0 && step.gathers_weights(); --idle) {
      for (int s = 0; s < step.spec.accum; ++s)
        turns_.push_back({.virtual_rank = -1, .micro_step = s});
    }
    for (int leaf = first_; leaf < last; ++leaf) {
      for (int s = 0; s < step.spec.accum; ++s)
        turns_.push_back({.virtual_rank = leaf, .micro_step = s, .fresh = s == 0});
    }
    std::vector<Subtree> arriving;
    for (int leaf = first_; leaf < last; ++leaf) arriving.push_back({.level = 0, .index = leaf});
    merges_ = plan_merges(arriving, leaves_);
    stacks_.assign(static_cast<std::size_t>(step.groups()),
                   std::vector<PartialSum>(static_cast<std::size_t>(merges_.slots)));
  }

  [[nodiscard]] const std::vector<Turn>& turns() const override { return turns_; }

  void on_complete(std::size_t turn, int g, ValueId leaf) override {
    if (turns_[turn].virtual_rank < 0 || turns_[turn].micro_step + 1 < step_.spec.accum) return;
    merge(turns_[turn].virtual_rank, g, leaf);
    const bool is_last = turn + 1 == turns_.size();
    if (!is_last) return;
    if (!step_.alone()) exchange_and_sum(g);
    step_.finish_reduction(g);
  }

 private:
  using Stack = std::vector<PartialSum>;

  [[nodiscard]] int first_of(int rank) const {
    return static_cast<int>(std::int64_t{rank} * leaves_ / step_.spec.world_size);
  }

  [[nodiscard]] int most_leaves() const {
    int most = 0;
    for (int rank = 0; rank < step_.spec.world_size; ++rank)
      most = std::max(most, first_of(rank + 1) - first_of(rank));
    return most;
  }

  // Merges subtrees as soon as they are equal, so the number of live accumulators is the depth of
  // the tree.
  void merge(int virtual_rank, int g, ValueId leaf) {
    Stack& stack = stacks_[static_cast<std::size_t>(g)];
    const Arrival& arrival = merges_.arrivals[static_cast<std::size_t>(virtual_rank - first_)];
    stack[static_cast<std::size_t>(arrival.slot)] = {leaf, true};
    for (const Merge& m : arrival.merges) {
      PartialSum& left = stack[static_cast<std::size_t>(m.dst)];
      left = step_.add(g, left, stack[static_cast<std::size_t>(m.src)]);
    }
  }

  // Sends the k-th root of every rank that has one to the owners, who finish the tree.
  void exchange_and_sum(int g) {
    const Stack& stack = stacks_[static_cast<std::size_t>(g)];
    std::vector<Stack> rows_of_ranks(roots_.size());
    for (std::size_t k = 0;; ++k) {
      std::vector<bool> contributes;
      bool any = false;
      for (const auto& roots : roots_) {
        contributes.push_back(roots.size() > k);
        any = any || contributes.back();
      }
      if (!any) break;
      const bool has_root = k < merges_.roots.size();
      const std::vector<ValueId> rows = step_.exchange(g, has_root ? stack[k].value : kNoValue,
                                                       contributes, fmt::format(".root{}", k));
      std::size_t row = 0;
      for (std::size_t rank = 0; rank < roots_.size(); ++rank) {
        if (contributes[rank]) rows_of_ranks[rank].push_back({rows[row++], true});
      }
    }
    Stack all;
    for (const Stack& rows : rows_of_ranks) all.insert(all.end(), rows.begin(), rows.end());
    sum(g, all);
  }

  void sum(int g, Stack& pieces) {
    const FinishPlan plan = plan_finish(roots_, leaves_);
    DS_ASSERT(!plan.merges.empty(), "every rank must have a root");
    for (const Merge& m : plan.merges) {
      PartialSum& left = pieces[static_cast<std::size_t>(m.dst)];
      const PartialSum& right = pieces[static_cast<std::size_t>(m.src)];
      const bool is_last = &m == &plan.merges.back();
      left = is_last ? step_.add_last(g, left, right)
                     : step_.add(g, left, right, step_.reduce_stream());
    }
  }

  StepBuilder& step_;
  int leaves_, first_;
  std::vector<std::vector<Subtree>> roots_;  // of every rank
  std::vector<Turn> turns_;
  MergePlan merges_;           // for this rank's leaves
  std::vector<Stack> stacks_;  // by group
};

}  // namespace

std::unique_ptr<Reduction> reduce_at_boundary(StepBuilder& step) {
  return std::make_unique<BoundaryReduction>(step);
}

}  // namespace ds
