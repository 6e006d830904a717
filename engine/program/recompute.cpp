// The pass recompute(): recomputes values in the backward pass instead of keeping them.
//
// A value is dropped or kept. A backward op that reads a dropped value reads its clone, made by a
// second run of the forward op right before. Clones are made on demand, so every clone has a
// reader, and liveness alone ends the first values early. A second run has the path of the first
// one, so random numbers, errors and traces agree.
#include <algorithm>

#include "engine/program/liveness.h"
#include "engine/program/ops/row.h"
#include "engine/program/passes.h"

namespace ds {
namespace {

class Recomputation {
 public:
  Recomputation(const Program& differentiated, bool fused_epilogues)
      : program_(differentiated), ops_(std::move(program_.ops)), fused_epilogues_(fused_epilogues) {
    forward_ops_ = forward_ops(ops_);
    made_by_.assign(program_.values.size(), kNoOp);
    clones_.assign(program_.values.size(), kNoValue);
    for (std::size_t i = 0; i < forward_ops_; ++i) {
      for (const ValueId id : ops_[i].out) {
        if (id != kNoValue) made_by_[index(id)] = i;
      }
    }
    dropped_.assign(program_.values.size(), false);
  }

  // Drops what is cheap to recompute. A rotary embedding's result is not, since its operand, which
  // is as large, would have to stay.
  void drop_selected() {
    for (std::size_t i = 0; i < forward_ops_; ++i) {
      const Op& op = ops_[i];
      const Again& again = row_of(op).again;
      if (op.block < 0 || again.cheap == nullptr) continue;
      const std::uint32_t cheap = again.cheap(op, fused_epilogues_);
      for (std::size_t k = 0; k < op.out.size(); ++k)
        if ((cheap >> k & 1U) != 0) drop({op.out[k]});
    }
  }

  // Drops everything a block makes except the input of the next block. Where a block starts with a
  // norm of two tensors, their sum is kept: one tensor instead of two. The last block's values are
  // needed right away, so recomputing them would save nothing.
  void drop_blocks() {
    int last = -1;
    for (std::size_t i = 0; i < forward_ops_; ++i) last = std::max(last, ops_[i].block);
    for (std::size_t i = 0; i < forward_ops_; ++i) {
      const int block = ops_[i].block;
      if (block >= 0 && block != last) drop(ops_[i].out);
    }
    for (std::size_t i = 0; i < forward_ops_; ++i) keep_what_enters(ops_[i]);
  }

  Program build() {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      Op op = ops_[i];
      if (i >= forward_ops_) {
        for (ValueId& id : op.in) id = available(id);
      }
      program_.ops.push_back(std::move(op));
    }
    return std::move(program_);
  }

 private:
  static constexpr std::size_t kNoOp = static_cast<std::size_t>(-1);
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  void drop(const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != kNoValue) dropped_[index(id)] = true;
    }
  }

  void keep_what_enters(const Op& op) {
    const auto enters = [&](ValueId id) {
      return id != kNoValue && made_by_[index(id)] != kNoOp &&
             ops_[made_by_[index(id)]].block != op.block;
    };
    if (row_of(op).again.sums_inputs && op.out[0] != kNoValue && enters(op.in[0]) &&
        enters(op.in[1])) {
      dropped_[index(op.out[0])] = false;
      return;
    }
    for (const ValueId id : op.in) {
      if (enters(id)) dropped_[index(id)] = false;
    }
  }

  ValueId available(ValueId id) {
    if (id == kNoValue || !dropped_[index(id)]) return id;
    if (clones_[index(id)] == kNoValue) run_again(ops_[made_by_[index(id)]]);
    return clones_[index(id)];
  }

  void run_again(Op op) {
    op.phase = Phase::backward;
    const Again& again = row_of(op).again;
    std::uint32_t kept = 0;
    for (std::size_t i = 0; i < op.out.size(); ++i)
      if (op.out[i] != kNoValue && !dropped_[index(op.out[i])]) kept |= 1U << i;
    if (again.sums_inputs && (kept & 1U) != 0) {
      op.in[0] = std::exchange(op.out[0], kNoValue);
      op.in[1] = kNoValue;
    }
    if (again.shrink != nullptr) again.shrink(op, kept, fused_epilogues_);
    for (ValueId& id : op.in) id = available(id);
    for (ValueId& id : op.out) {
      if (id != kNoValue) id = clone(id);
    }
    program_.ops.push_back(std::move(op));
  }

  ValueId clone(ValueId id) {
    Value again = program_.value(id);
    again.name += "~";
    return clones_[index(id)] = program_.add_value(std::move(again));
  }

  Program program_;
  const std::vector<Op> ops_;
  const bool fused_epilogues_;
  std::size_t forward_ops_ = 0;
  std::vector<std::size_t> made_by_;  // value -> forward op
  std::vector<bool> dropped_;         // value -> not kept for the backward pass
  std::vector<ValueId> clones_;
};

}  // namespace

Program recompute(const Program& differentiated, Recompute policy, bool fused_epilogues) {
  Recomputation pass(differentiated, fused_epilogues);
  if (policy == Recompute::selective) pass.drop_selected();
  if (policy == Recompute::block) pass.drop_blocks();
  return pass.build();
}

}  // namespace ds
