// The pass offload_activations(): keeps activations that the backward pass needs much later in host
// memory.
//
// A copy to the host follows the op that makes the value, on the evict stream. A copy back comes
// some ops before the backward pass first reads the value, on the fetch stream. Backward ops read
// the second copy, so liveness ends the first one in the forward pass.
#include <algorithm>
#include <map>

#include "engine/program/liveness.h"
#include "engine/program/passes.h"

namespace ds {
namespace {

/// Indices of the ops that use a value; -1: none.
struct Uses {
  int made = -1, last_forward = -1, first_backward = -1;
  bool written_again = false;
};

class ActivationOffload {
 public:
  ActivationOffload(const Program& differentiated, const ActivationOffloadSpec& spec)
      : program_(differentiated), ops_(std::move(program_.ops)), spec_(spec) {
    backward_ = static_cast<int>(forward_ops(ops_));
    find_uses();
  }

  Program build() {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (waits_on_host(static_cast<ValueId>(i))) move(static_cast<ValueId>(i));
    }
    for (int i = 0; i < static_cast<int>(ops_.size()); ++i) {
      insert(fetches_, i);
      Op op = ops_[static_cast<std::size_t>(i)];
      if (i >= backward_) {
        for (ValueId& id : op.in) {
          const auto moved = back_.find(id);
          if (moved != back_.end()) id = moved->second;
        }
      }
      program_.ops.push_back(std::move(op));
      insert(evictions_, i);
    }
    return std::move(program_);
  }

 private:
  void find_uses() {
    uses_.resize(program_.values.size());
    for (int i = 0; i < static_cast<int>(ops_.size()); ++i) {
      const Op& op = ops_[static_cast<std::size_t>(i)];
      for (const ValueId id : op.in) {
        if (id == kNoValue) continue;
        Uses& uses = uses_[static_cast<std::size_t>(id)];
        if (i < backward_) uses.last_forward = i;
        if (i >= backward_ && uses.first_backward < 0) uses.first_backward = i;
      }
      for (const ValueId id : op.out) {
        if (id == kNoValue) continue;
        Uses& uses = uses_[static_cast<std::size_t>(id)];
        uses.written_again = uses.made >= 0;
        uses.made = i;
        uses.last_forward = i;
      }
    }
  }

  // A value is large if it has at least the bytes of the tensor between two blocks; statistics
  // stay.
  [[nodiscard]] bool waits_on_host(ValueId id) const {
    const Value& value = program_.value(id);
    const Uses& uses = uses_[static_cast<std::size_t>(id)];
    if (value.kind != ValueKind::activation || value.base != kNoValue) return false;
    if (value.tier != Tier::device || value.persistent || uses.written_again) return false;
    if (uses.made < 0 || uses.made >= backward_ || uses.first_backward < 0) return false;
    if (bytes_of(value) < bytes_of(program_.value(program_.final_activation))) return false;
    return uses.first_backward - uses.last_forward > 2 * spec_.ahead;
  }

  void move(ValueId id) {
    const Uses& uses = uses_[static_cast<std::size_t>(id)];
    const Value value = program_.value(id);
    Value host = value;
    host.name += ".host";
    host.tier = Tier::host;
    Value back = value;
    back.name += ".back";
    const ValueId on_host = program_.add_value(std::move(host));
    const ValueId again = back_[id] = program_.add_value(std::move(back));
    evictions_.emplace(uses.made, copy("evict." + value.name, StreamId::evict, id, on_host));
    fetches_.emplace(uses.first_backward - spec_.ahead,
                     copy("fetch." + value.name, StreamId::fetch, on_host, again));
  }

  [[nodiscard]] Op copy(std::string path, StreamId stream, ValueId from, ValueId to) const {
    return {.attrs = ops::Copy{},
            .path = std::move(path),
            .micro = program_.value(from).micro,
            .in = {from},
            .out = {to},
            .phase = stream == StreamId::fetch ? Phase::backward : Phase::forward,
            .stream = spec_.overlap ? stream : StreamId::compute};
  }

  void insert(const std::multimap<int, Op>& copies, int at) {
    const auto [first, last] = copies.equal_range(at);
    for (auto copy = first; copy != last; ++copy) program_.ops.push_back(copy->second);
  }

  Program program_;
  const std::vector<Op> ops_;
  const ActivationOffloadSpec spec_;
  int backward_ = 0;                 // the first op of the backward pass
  std::vector<Uses> uses_;           // by value
  std::map<ValueId, ValueId> back_;  // value -> the copy that the backward pass reads instead
  std::multimap<int, Op> evictions_, fetches_;  // after, and before, the op of that index
};

}  // namespace

Program offload_activations(const Program& differentiated, const ActivationOffloadSpec& spec) {
  return ActivationOffload(differentiated, spec).build();
}

}  // namespace ds
