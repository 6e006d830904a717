// The pass offload_gradients(): keeps sums of micro-steps and the step's gradient outside of the
// device.
#include <algorithm>
#include <map>
#include <set>

#include "engine/program/liveness.h"
#include "engine/program/offload.h"
#include "engine/program/slices.h"

namespace ds {
namespace {

/// A slice unused for more than this many ops (more than one group's reduction) is sent away.
constexpr std::size_t kFar = 16;

/// Uses of one slice that are near each other.
struct Cluster {
  std::size_t first = 0, last = 0;
};

class GradientPass {
 public:
  GradientPass(Program step, const OffloadSpec& spec) : program_(std::move(step)), spec_(spec) {}

  Program run() {
    ops_ = std::move(program_.ops);
    program_.ops.clear();
    before_.resize(ops_.size());
    after_.resize(ops_.size());
    for (const auto& [id, uses] : uses_of_slices()) move(id, clusters_of(uses));
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      append(before_[i]);
      program_.ops.push_back(std::move(ops_[i]));
      append(after_[i]);
    }
    return std::move(program_);
  }

 private:
  void append(std::vector<Op>& ops) {
    for (Op& op : ops) program_.ops.push_back(std::move(op));
  }

  [[nodiscard]] bool is_slice(ValueId id, int g) const {
    if (g < 0) return false;
    const Value& value = program_.value(id);
    const ParamGroup& group = program_.groups[static_cast<std::size_t>(g)];
    return value.kind == ValueKind::gradient && value.base == kNoValue && !value.persistent &&
           value.micro < 0 && value.shape == Shape{slice_elements(group.own)} &&
           slice_elements(group.own) < group.elements;
  }

  std::map<ValueId, std::vector<std::size_t>> uses_of_slices() {
    std::map<ValueId, std::vector<std::size_t>> uses;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const Op& op = ops_[i];
      std::set<ValueId> ids;
      for (const std::vector<ValueId>& operands : {op.in, op.out}) {
        for (const ValueId id : operands)
          if (id != kNoValue) ids.insert(home_of(program_, id).base);
      }
      for (const ValueId id : ids) {
        if (!is_slice(id, op.group)) continue;
        uses[id].push_back(i);
        group_of_[id] = op.group;
      }
    }
    return uses;
  }

  /// The optimizer's uses are their own cluster, however near they are.
  [[nodiscard]] std::vector<Cluster> clusters_of(const std::vector<std::size_t>& uses) const {
    std::vector<Cluster> clusters;
    for (const std::size_t use : uses) {
      const bool is_update = is<ops::Update>(ops_[use]);
      if (clusters.empty() || is_update != is<ops::Update>(ops_[clusters.back().last]) ||
          use - clusters.back().last > kFar) {
        clusters.push_back({use, use});
      } else {
        clusters.back().last = use;
      }
    }
    return clusters;
  }

  void move(ValueId id, const std::vector<Cluster>& clusters) {
    if (clusters.size() < 2) return;
    Value away = program_.value(id);
    away.name += ".away";
    away.tier = spec_.gradients;
    const ValueId home = program_.add_value(std::move(away));
    const int g = group_of_.at(id);
    ParamGroup& group = program_.groups[static_cast<std::size_t>(g)];
    const bool is_last = group.gradient == id;
    ValueId here = id;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
      const bool reads_there = is_last && c + 1 == clusters.size() && spec_.states != Tier::device;
      if (c > 0 && !reads_there) {
        Value back = program_.value(id);
        back.name += fmt::format(".back{}", c);
        here = program_.add_value(std::move(back));
        transfer(before_[clusters[c].first], g, home, here, "grad_in", StreamId::fetch);
      }
      replace(clusters[c], id, reads_there ? home : here);
      if (c + 1 < clusters.size())
        transfer(after_[clusters[c].last], g, here, home, "grad_out", StreamId::evict);
    }
    if (is_last) group.gradient = home;
  }

  void replace(const Cluster& cluster, ValueId from, ValueId to) {
    for (std::size_t i = cluster.first; i <= cluster.last; ++i) {
      for (ValueId& id : ops_[i].in) id = moved(id, from, to);
      for (ValueId& id : ops_[i].out) id = moved(id, from, to);
    }
  }

  /// Returns `to` for `from`, the same view of `to` for a view of `from`, and other values as they
  /// are.
  ValueId moved(ValueId id, ValueId from, ValueId to) {
    if (id == from) return to;
    if (id == kNoValue || from == to || program_.value(id).base != from) return id;
    const Value view = program_.value(id);
    return add_view(program_, to, view.offset, view.shape,
                    fmt::format("{}.moved{}", view.name, moved_++));
  }

  // Copies to the host, or to files and back through the host tile by tile.
  void transfer(std::vector<Op>& ops, int g, ValueId from, ValueId to, const char* what,
                StreamId stream) {
    if (spec_.gradients == Tier::host) {
      ops.push_back(copy(what, g, from, to, stream));
      return;
    }
    for (const OwnedPart& tile :
         tiles_of(program_.groups[static_cast<std::size_t>(g)].own, spec_.tile)) {
      const std::string name = fmt::format("{}.{}{}", program_.value(to).name, what, moved_++);
      const ValueId ring = program_.add_value({.name = name + ".ring",
                                               .kind = ValueKind::gradient,
                                               .dtype = DType::f32,
                                               .shape = {tile.elements},
                                               .tier = Tier::host});
      const auto part = [&](ValueId whole, const char* end) {
        return add_view(program_, whole, tile.at, {tile.elements}, name + end);
      };
      ops.push_back(copy(what, g, part(from, ".from"), ring, stream));
      ops.push_back(copy(what, g, ring, part(to, ".to"), stream));
    }
  }

  Op copy(const char* what, int g, ValueId from, ValueId to, StreamId stream) {
    const std::string& group = program_.groups[static_cast<std::size_t>(g)].name;
    return copy_between_tiers(spec_, {fmt::format("{}.{}", what, group), g, stream}, from, to);
  }

  Program program_;
  const OffloadSpec& spec_;
  std::vector<Op> ops_;
  std::vector<std::vector<Op>> before_, after_;  // by op
  std::map<ValueId, int> group_of_;              // slice -> group
  int moved_ = 0;                                // makes names unique
};

}  // namespace

Program offload_gradients(Program step, const OffloadSpec& spec) {
  if (spec.gradients == Tier::device) return step;
  return GradientPass(std::move(step), spec).run();
}

}  // namespace ds
