// The pass recompute(): recomputes values in the backward pass instead of keeping them.
//
// A value is dropped or kept. A backward op that reads a dropped value reads its clone, made by a
// second run of the forward op right before. Clones are made on demand, so every clone has a
// reader, and liveness alone ends the first values early. A second run has the path of the first
// one, so random numbers, errors and traces agree.
#include <algorithm>

#include "engine/program/liveness.h"
#include "engine/program/passes.h"

namespace ds {
namespace {

class Recomputation {
 public:
  Recomputation(const Program& differentiated, bool fused_epilogues)
      : program_(differentiated), ops_(std::move(program_.ops)), fused_epilogues_(fused_epilogues) {
    const auto first = std::find_if(ops_.begin(), ops_.end(), is_backward);
    forward_ops_ = static_cast<std::size_t>(first - ops_.begin());
    made_by_.assign(program_.values.size(), kNoOp);
    clones_.assign(program_.values.size(), kNoValue);
    for (std::size_t i = 0; i < forward_ops_; ++i) {
      for (const ValueId id : ops_[i].out) {
        if (id != kNoValue) made_by_[index(id)] = i;
      }
    }
    dropped_.assign(program_.values.size(), false);
  }

  // Drops what is cheap to recompute: norms from the kept sums, GELU and SwiGLU from their kept
  // argument, attention from the kept q, k and v. A rotary embedding's result stays: otherwise its
  // operand, which is as large, would have to stay.
  void drop_selected() {
    for (std::size_t i = 0; i < forward_ops_; ++i) {
      const Op& op = ops_[i];
      if (block_of(op) < 0) continue;
      if (op.code == OpCode::layernorm) drop({op.out[1], op.out[2], op.out[3]});
      if (op.code == OpCode::rmsnorm) drop({op.out[1], op.out[2]});
      if (op.code == OpCode::attention || op.code == OpCode::swiglu) drop(op.out);
      if (is_gelu(op) && !fused_epilogues_) drop({op.out[0]});
    }
  }

  // Drops everything a block makes except the input of the next block. Where a block starts with a
  // norm of two tensors, their sum is kept: one tensor instead of two. The last block's values are
  // needed right away, so recomputing them would save nothing.
  void drop_blocks() {
    int last = -1;
    for (std::size_t i = 0; i < forward_ops_; ++i) last = std::max(last, block_of(ops_[i]));
    for (std::size_t i = 0; i < forward_ops_; ++i) {
      const int block = block_of(ops_[i]);
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
  /// Returns whether the op is a norm: of in[0], or of in[0] + in[1] with the sum in out[0].
  static bool is_norm(const Op& op) {
    return op.code == OpCode::layernorm || op.code == OpCode::rmsnorm;
  }
  static bool is_gelu(const Op& op) {
    return op.code == OpCode::linear && op.attrs.epilogue == Linear::Epilogue::gelu;
  }

  // Returns the parameter group of a block's op, found by the op's path; -1 outside of blocks.
  [[nodiscard]] int block_of(const Op& op) const {
    const std::string_view name = std::string_view(op.path).substr(0, op.path.find('.'));
    if (!name.starts_with("block")) return -1;
    for (std::size_t g = 0; g < program_.groups.size(); ++g) {
      if (program_.groups[g].name == name) return static_cast<int>(g);
    }
    return -1;
  }

  void drop(const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != kNoValue) dropped_[index(id)] = true;
    }
  }

  void keep_what_enters(const Op& op) {
    const int block = block_of(op);
    const auto enters = [&](ValueId id) {
      return id != kNoValue && made_by_[index(id)] != kNoOp &&
             block_of(ops_[made_by_[index(id)]]) != block;
    };
    if (is_norm(op) && op.out[0] != kNoValue && enters(op.in[0]) && enters(op.in[1])) {
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
    const auto kept = [&](ValueId id) { return id != kNoValue && !dropped_[index(id)]; };
    if (is_norm(op) && kept(op.out[0])) {
      op.in[0] = std::exchange(op.out[0], kNoValue);
      op.in[1] = kNoValue;
    } else if (is_gelu(op) && kept(op.out[1]) && !fused_epilogues_) {
      op.code = OpCode::gelu;
      op.in = {op.out[1]};
      op.out.pop_back();
      op.attrs = {};
    }
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
