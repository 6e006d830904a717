// Reduction in order "step": a tree over virtual ranks in every micro-step, then the micro-steps'
// sums in order. Virtual ranks are dealt round-robin; owners keep only slices of what is not summed
// yet.
#include "engine/program/ordered_tree.h"
#include "engine/program/step_builder.h"

namespace ds {
namespace {

class StepReduction : public Reduction {
 public:
  explicit StepReduction(StepBuilder& step)
      : step_(step), leaves_(step.spec.virtual_ranks), world_(step.spec.world_size) {
    rounds_ = (leaves_ + world_ - 1) / world_;
    for (int s = 0; s < step.spec.accum; ++s) {
      for (int round = 0; round < rounds_; ++round) {
        const int dealt = round * world_ + step.spec.rank;
        turns_.push_back({.virtual_rank = dealt < leaves_ ? dealt : -1, .micro_step = s});
      }
    }
    std::vector<Subtree> arriving;
    for (int leaf = 0; leaf < leaves_; ++leaf) arriving.push_back({.level = 0, .index = leaf});
    merges_ = plan_merges(arriving, leaves_);
    states_.resize(static_cast<std::size_t>(step.groups()));
    for (State& state : states_) state.stack.resize(static_cast<std::size_t>(merges_.slots));
  }

  [[nodiscard]] const std::vector<Turn>& turns() const override { return turns_; }

  void on_complete(std::size_t turn, int g, ValueId leaf) override {
    const int round = static_cast<int>(turn) % rounds_, first = round * world_;
    const int last = std::min(first + world_, leaves_);
    const int micro_step = turns_[turn].micro_step;
    if (step_.alone()) {
      arrive(first, micro_step, g, {leaf, true});
    } else {
      std::vector<bool> contributes;
      for (int rank = 0; rank < world_; ++rank) contributes.push_back(first + rank < leaves_);
      const std::vector<ValueId> rows =
          step_.exchange(g, leaf, contributes, fmt::format(".s{}.r{}", micro_step, round));
      for (int i = first; i < last; ++i)
        arrive(i, micro_step, g, {rows[static_cast<std::size_t>(i - first)], false});
    }
    if (last == leaves_) end_micro_step(micro_step, g);
  }

 private:
  struct State {
    std::vector<PartialSum> stack;
    PartialSum sum;  // of the micro-steps so far
  };

  void arrive(int leaf, int micro_step, int g, const PartialSum& piece) {
    std::vector<PartialSum>& stack = states_[static_cast<std::size_t>(g)].stack;
    const Arrival& arrival = merges_.arrivals[static_cast<std::size_t>(leaf)];
    stack[static_cast<std::size_t>(arrival.slot)] = piece;
    for (const Merge& m : arrival.merges) {
      PartialSum& left = stack[static_cast<std::size_t>(m.dst)];
      const PartialSum& right = stack[static_cast<std::size_t>(m.src)];
      // The tree's last sum is the step's last when nothing is accumulated after it.
      const bool ends_tree = leaf + 1 == leaves_ && &m == &arrival.merges.back();
      const bool is_last = ends_tree && step_.spec.accum == 1 && micro_step == 0;
      left = is_last ? step_.add_last(g, left, right) : step_.add(g, left, right, stream());
    }
  }

  void end_micro_step(int micro_step, int g) {
    State& state = states_[static_cast<std::size_t>(g)];
    const PartialSum& root = state.stack[0];
    const bool is_last = micro_step + 1 == step_.spec.accum;
    if (micro_step == 0) {
      state.sum = root;
    } else if (is_last) {
      state.sum = step_.add_last(g, state.sum, root);
    } else {
      state.sum = step_.add(g, state.sum, root, stream());
    }
    if (is_last) step_.finish_reduction(g);
  }

  [[nodiscard]] StreamId stream() const { return step_.reduce_stream(); }

  StepBuilder& step_;
  int leaves_, world_, rounds_ = 0;
  std::vector<Turn> turns_;
  MergePlan merges_;           // for all leaves: the owner receives all of them
  std::vector<State> states_;  // by group
};

}  // namespace

std::unique_ptr<Reduction> reduce_per_step(StepBuilder& step) {
  return std::make_unique<StepReduction>(step);
}

}  // namespace ds
