// The pass shard(): this rank's micro-batches one after the other, each group reduced as soon as
// its gradient is complete, then control and optimizer. Gathers of split weights come last.
#include <map>

#include "engine/program/step_builder.h"

namespace ds {
namespace {

class Unroll {
 public:
  Unroll(const Program& differentiated, const ShardSpec& spec)
      : template_(differentiated),
        step_(differentiated, spec),
        leaves_(differentiated.groups.size()) {
    reduction_ = spec.order == ShardSpec::Order::boundary ? reduce_at_boundary(step_)
                                                          : reduce_per_step(step_);
    index_gradients();
    order_completions();
    copy_parameters();
  }

  Program build() {
    const std::vector<Turn>& turns = reduction_->turns();
    for (std::size_t turn = 0; turn < turns.size(); ++turn) {
      if (turns[turn].virtual_rank < 0) {
        run_idle_turn(turn);
      } else {
        run_turn(turn, turns[turn]);
      }
    }
    append_update(step_);
    return gather_weights(std::move(step_.program), step_.spec);
  }

 private:
  // Where a gradient of the template lies; tensor -1 is the group's flat value.
  struct GradientPlace {
    int group = 0, tensor = -1;
  };

  void index_gradients() {
    for (int g = 0; g < step_.groups(); ++g) {
      const ParamGroup& group = template_.groups[static_cast<std::size_t>(g)];
      gradients_[group.gradient] = {g, -1};
      for (std::size_t i = 0; i < group.tensors.size(); ++i)
        gradients_[group.tensors[i].gradient] = {g, static_cast<int>(i)};
    }
  }

  // A group's gradient is complete after the last op that writes to it.
  void order_completions() {
    std::map<int, std::size_t> last;
    for (std::size_t i = 0; i < template_.ops.size(); ++i) {
      for (const ValueId out : template_.ops[i].out) {
        const auto found = gradients_.find(out);
        if (found != gradients_.end()) last[found->second.group] = i;
      }
    }
    DS_ASSERT(last.size() == template_.groups.size(), "every group must have a gradient");
    for (const auto& [g, op] : last) completions_.emplace(op, g);
  }

  void copy_parameters() {
    shared_.assign(template_.values.size(), kNoValue);
    for (std::size_t i = 0; i < template_.values.size(); ++i) {
      Value value = template_.values[i];
      if (value.micro >= 0) continue;
      if (value.base != kNoValue) value.base = shared_[static_cast<std::size_t>(value.base)];
      shared_[i] = step_.program.add_value(std::move(value));
    }
    for (ParamGroup& group : step_.program.groups) {
      group.weights = shared_[static_cast<std::size_t>(group.weights)];
      for (ParamTensor& tensor : group.tensors)
        tensor.weights = shared_[static_cast<std::size_t>(tensor.weights)];
    }
  }

  void run_turn(std::size_t index, const Turn& turn) {
    micro_ = static_cast<int>(step_.program.micro_batches.size());
    ids_ = shared_;
    if (turn.fresh) leaves_.assign(leaves_.size(), {});
    const MicroBatch& batch = template_.micro_batches.at(0);
    step_.program.micro_batches.push_back({.virtual_rank = turn.virtual_rank,
                                           .micro_step = turn.micro_step,
                                           .loss = instance(batch.loss),
                                           .count = instance(batch.count)});
    std::vector<Input>& inputs = step_.program.micro_batches.back().inputs;
    inputs = batch.inputs;
    for (Input& input : inputs) input.value = instance(input.value);
    for (std::size_t i = 0; i < template_.ops.size(); ++i) {
      emit(template_.ops[i], turn);
      const auto [first, last] = completions_.equal_range(i);
      for (auto done = first; done != last; ++done)
        reduction_->on_complete(index, done->second, leaf(done->second, turn).flat);
    }
  }

  // In an idle turn other ranks compute. This rank uses the same weights and takes part in the
  // reductions.
  void run_idle_turn(std::size_t index) {
    for (std::size_t i = 0; i < template_.ops.size(); ++i) {
      const Op& op = template_.ops[i];
      std::vector<ValueId> weights;
      for (const ValueId id : op.in) {
        if (id != kNoValue && shared_[static_cast<std::size_t>(id)] != kNoValue)
          weights.push_back(shared_[static_cast<std::size_t>(id)]);
      }
      if (!weights.empty() && step_.gathers_weights())
        step_.program.ops.push_back({.attrs = ops::Idle{}, .path = op.path, .in = weights});
      const auto [first, last] = completions_.equal_range(i);
      for (auto done = first; done != last; ++done)
        reduction_->on_complete(index, done->second, kNoValue);
    }
  }

  void emit(const Op& op, const Turn& turn) {
    Op unrolled = op;
    unrolled.micro = micro_;
    for (ValueId& id : unrolled.in) id = renamed(id, turn);
    for (std::size_t i = 0; i < unrolled.out.size(); ++i) {
      if (gradients_.contains(unrolled.out[i]) && !turn.fresh) unrolled.adds |= 1U << i;
      unrolled.out[i] = renamed(unrolled.out[i], turn);
    }
    step_.program.ops.push_back(std::move(unrolled));
  }

  // Returns the value of the step for one of the template.
  ValueId renamed(ValueId id, const Turn& turn) {
    if (id == kNoValue) return id;
    const auto found = gradients_.find(id);
    if (found == gradients_.end()) return instance(id);
    const FlatGradient& gradient = leaf(found->second.group, turn);
    const int tensor = found->second.tensor;
    return tensor < 0 ? gradient.flat : gradient.tensors[static_cast<std::size_t>(tensor)];
  }

  ValueId instance(ValueId id) {
    ValueId& made = ids_[static_cast<std::size_t>(id)];
    if (made == kNoValue) {
      Value value = template_.value(id);
      value.name += fmt::format("@{}", micro_);
      value.micro = micro_;
      if (value.base != kNoValue) value.base = instance(value.base);
      made = step_.program.add_value(std::move(value));
    }
    return made;
  }

  // Returns the accumulator of the turn's leaf; made when the first op needs it.
  const FlatGradient& leaf(int g, const Turn& turn) {
    FlatGradient& leaf = leaves_[static_cast<std::size_t>(g)];
    if (leaf.flat == kNoValue) {
      leaf = step_.make_gradient(g, fmt::format(".v{}.s{}", turn.virtual_rank, turn.micro_step));
      step_.clear(g, leaf);
      // A world of one rank adds everything to the first leaf, which is the gradient without a
      // copy.
      const bool is_first = turn.virtual_rank == 0 && turn.micro_step == 0;
      if (is_first && step_.alone()) step_.set_reduced(g, leaf);
    }
    return leaf;
  }

  const Program& template_;
  StepBuilder step_;
  std::unique_ptr<Reduction> reduction_;
  std::map<ValueId, GradientPlace> gradients_;   // of the template
  std::multimap<std::size_t, int> completions_;  // template op -> groups that are complete after it
  std::vector<ValueId> shared_;       // template value -> value of the step; parameters only
  std::vector<ValueId> ids_;          // template value -> value of the current micro-batch
  std::vector<FlatGradient> leaves_;  // by group
  int micro_ = 0;
};

}  // namespace

Program shard(const Program& differentiated, const ShardSpec& spec) {
  DS_ASSERT(spec.rank >= 0 && spec.rank < spec.world_size);
  DS_ASSERT(spec.accum >= 1 && spec.virtual_ranks >= 1);
  if (spec.world_size > spec.virtual_ranks) {
    throw Error(ErrorKind::config,
                fmt::format("{} ranks cannot share {} virtual ranks: some would have no work",
                            spec.world_size, spec.virtual_ranks),
                fmt::format("start at most {} ranks, or set determinism.virtual_ranks to {} or "
                            "more (this changes the training)",
                            spec.virtual_ranks, spec.world_size));
  }
  const Program padded = pad_groups(differentiated, spec);
  return Unroll(padded, spec).build();
}

}  // namespace ds
