// The pass gather_weights(): gathers weights that are split among ranks, once per stretch of uses
// and ahead of it.
#include <algorithm>
#include <numeric>

#include "engine/program/liveness.h"
#include "engine/program/passes.h"
#include "engine/program/slices.h"

namespace ds {
namespace {

/// Uses of one group with nothing (or little) gathered between them. Ends are indices of ops.
struct Stretch {
  int g = 0;
  std::size_t first = 0, last = 0, issue = 0;
  ValueId flat = kNoValue;
  std::vector<ValueId> tensors{};
};

class GatherPass {
 public:
  GatherPass(Program program, const ShardSpec& spec)
      : program_(std::move(program)),
        spec_(spec),
        group_of_(program_.values.size(), -1),
        open_(program_.groups.size(), -1),
        since_(program_.groups.size()) {
    index_weights();
  }

  Program run() {
    for (std::size_t i = 0; i < program_.ops.size(); ++i) note_uses(i);
    sum_ends();
    for (std::size_t k = 0; k < stretches_.size(); ++k) {
      choose_issue(k);
      issued_.push_back(issued_.back() + elements_of(stretches_[k].g));
    }
    for (Stretch& stretch : stretches_) make_copy(stretch);
    rewrite_uses();
    insert_gathers();
    for (ParamGroup& group : program_.groups) {
      if (!splits_weights(group, spec_)) continue;
      program_.values[static_cast<std::size_t>(group.weights)].persistent = false;  // never used
      group.weights = kNoValue;
    }
    return std::move(program_);
  }

 private:
  void index_weights() {
    for (std::size_t g = 0; g < program_.groups.size(); ++g) {
      ParamGroup& group = program_.groups[g];
      if (!splits_weights(group, spec_)) continue;
      if (group.slice == kNoValue) group.slice = add_weight_slice(program_, group, spec_);
      group_of_[static_cast<std::size_t>(group.weights)] = static_cast<int>(g);
      for (const ParamTensor& tensor : group.tensors)
        group_of_[static_cast<std::size_t>(tensor.weights)] = static_cast<int>(g);
    }
    group_of_.resize(program_.values.size(), -1);
  }

  [[nodiscard]] std::int64_t elements_of(int g) const {
    return program_.groups[static_cast<std::size_t>(g)].elements;
  }

  void note_uses(std::size_t op) {
    for (const ValueId id : program_.ops[op].in) {
      const int g = id == kNoValue ? -1 : group_of_[static_cast<std::size_t>(id)];
      if (g >= 0) note_use(op, g);
    }
  }

  void note_use(std::size_t op, int g) {
    int& open = open_[static_cast<std::size_t>(g)];
    std::vector<int>& since = since_[static_cast<std::size_t>(g)];
    std::int64_t between = 0;
    for (const int other : since) between += elements_of(other);
    if (open < 0 || between > spec_.reuse_distance ||
        (between > 0 && between + elements_of(g) > spec_.max_live)) {
      open = static_cast<int>(stretches_.size());
      stretches_.push_back({.g = g, .first = op});
    }
    stretches_[static_cast<std::size_t>(open)].last = op;
    since.clear();
    for (std::size_t other = 0; other < since_.size(); ++other) {
      std::vector<int>& list = since_[other];
      if (static_cast<int>(other) != g && std::find(list.begin(), list.end(), g) == list.end())
        list.push_back(g);
    }
  }

  /// Issues the gather at the first use of an earlier stretch, as early as possible: while fewer
  /// than `prefetch` elements are gathered ahead, and at most max_live in all.
  void choose_issue(std::size_t k) {
    Stretch& stretch = stretches_[k];
    stretch.issue = stretch.first;
    if (!spec_.overlap || spec_.prefetch <= 0) return;
    std::int64_t ahead = 0;
    for (std::size_t j = k; j-- > 0;) {
      const Stretch& earlier = stretches_[j];
      if (ahead >= spec_.prefetch || earlier.first < floor_) break;
      if (live_at(earlier.first, k) + elements_of(stretch.g) > spec_.max_live) break;
      stretch.issue = earlier.first;
      ahead += elements_of(earlier.g);
    }
    floor_ = std::max(floor_, stretch.issue);  // gathers are issued in the order of their uses
  }

  /// Sums what ends before each op, so that live_at() needs no loop over the stretches.
  void sum_ends() {
    ended_before_.assign(program_.ops.size() + 1, 0);
    for (const Stretch& stretch : stretches_)
      ended_before_[stretch.last + 1] += elements_of(stretch.g);
    std::partial_sum(ended_before_.begin(), ended_before_.end(), ended_before_.begin());
  }

  /// Returns what the stretches before `before`, whose issues are in order, keep gathered at `op`,
  /// which is not after their last first use.
  [[nodiscard]] std::int64_t live_at(std::size_t op, std::size_t before) const {
    const auto end = stretches_.begin() + static_cast<std::ptrdiff_t>(before);
    const auto later = std::upper_bound(
        stretches_.begin(), end, op,
        [](std::size_t value, const Stretch& stretch) { return value < stretch.issue; });
    return issued_[static_cast<std::size_t>(later - stretches_.begin())] - ended_before_[op];
  }

  void make_copy(Stretch& stretch) {
    const ParamGroup& group = program_.groups[static_cast<std::size_t>(stretch.g)];
    Value whole = program_.value(group.weights);
    whole.name += fmt::format("#{}", &stretch - stretches_.data());
    whole.persistent = false;
    stretch.flat = program_.add_value(std::move(whole));
    for (const ParamTensor& tensor : group.tensors) {
      Value view = program_.value(tensor.weights);
      view.name += fmt::format("#{}", &stretch - stretches_.data());
      view.base = stretch.flat;
      stretch.tensors.push_back(program_.add_value(std::move(view)));
    }
  }

  void rewrite_uses() {
    for (const Stretch& stretch : stretches_) {
      ParamGroup& group = program_.groups[static_cast<std::size_t>(stretch.g)];
      for (std::size_t op = stretch.first; op <= stretch.last; ++op) {
        for (ValueId& id : program_.ops[op].in) {
          if (id == kNoValue) continue;
          if (id == group.weights) id = stretch.flat;
          for (std::size_t t = 0; t < group.tensors.size(); ++t) {
            if (id == group.tensors[t].weights) id = stretch.tensors[t];
          }
        }
      }
    }
    for (const Stretch& stretch : stretches_) {
      ParamGroup& group = program_.groups[static_cast<std::size_t>(stretch.g)];
      for (std::size_t t = 0; t < group.tensors.size(); ++t)
        group.tensors[t].weights = stretch.tensors[t];
    }
  }

  void insert_gathers() {
    std::vector<Op> ops;
    std::size_t next = 0;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      for (; next < stretches_.size() && stretches_[next].issue == i; ++next)
        gather(stretches_[next], ops);
      ops.push_back(std::move(program_.ops[i]));
    }
    DS_ASSERT(next == stretches_.size());
    program_.ops = std::move(ops);
  }

  void gather(const Stretch& stretch, std::vector<Op>& ops) {
    const ParamGroup& group = program_.groups[static_cast<std::size_t>(stretch.g)];
    for (CommAttrs& bucket : comms_of(group, spec_)) {
      ops.push_back({.attrs = ops::AllGather{std::move(bucket)},
                     .path = "gather." + group.name,
                     .in = {group.slice},
                     .out = {stretch.flat},
                     .group = stretch.g,
                     .stream = spec_.overlap ? StreamId::gather : StreamId::compute});
    }
  }

  Program program_;
  const ShardSpec& spec_;
  std::vector<int> group_of_;  // value -> split group whose weights it is; -1: none
  std::vector<Stretch> stretches_;
  std::vector<int> open_;                   // by group: its last stretch; -1: none
  std::vector<std::vector<int>> since_;     // by group: other groups used since its last use
  std::vector<std::int64_t> issued_{0};     // sums of the elements of the first stretches
  std::vector<std::int64_t> ended_before_;  // by op: elements of the stretches that ended before
  std::size_t floor_ = 0;
};

}  // namespace

ValueId add_weight_slice(Program& program, const ParamGroup& group, const ShardSpec& spec) {
  return program.add_value({.name = group.name + ".weights.slice",
                            .kind = ValueKind::parameter,
                            .dtype = program.value(group.weights).dtype,
                            .shape = {slice_elements(owned_by(group, spec, spec.rank))},
                            .persistent = true});
}

Program gather_weights(Program program, const ShardSpec& spec) {
  return GatherPass(std::move(program), spec).run();
}

Program shard_forward(const Program& forward, const ShardSpec& spec) {
  return gather_weights(pad_groups(forward, spec), spec);
}

}  // namespace ds
