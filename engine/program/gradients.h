// The reverse of every op: one function an op, found through a table.
#pragma once

#include <map>

#include "engine/program/program.h"

namespace ds {

/// What differentiate() knows while it walks the forward ops backwards.
class Reverse {
 public:
  /// `program` holds the forward values and no op that is not yet final; reverse ops are appended.
  Reverse(Program& program, const Program& forward);

  /// Gradient that later ops gave to `value`; kNoValue: it does not reach the loss.
  [[nodiscard]] ValueId gradient_of(ValueId value) const;
  /// One more use of `value` has this gradient: the first is taken as it is, others are summed in
  /// reverse program order.
  void contribute(ValueId value, ValueId gradient);
  /// The op that made `gradient` has already added what was known of `value`.
  void replace(ValueId value, ValueId gradient) { gradients_[value] = gradient; }

  struct ParameterGradient {
    ValueId value;
    bool accumulate;  // false for the first contribution of the micro-batch
  };
  /// Where an op adds the gradient of a parameter tensor. Each call is one contribution.
  ParameterGradient parameter(ValueId weights);

  /// Where `value` is a GELU that one linear layer alone reads: its argument. That layer's reverse
  /// gives the argument's gradient at once.
  [[nodiscard]] ValueId gelu_argument(ValueId value) const {
    const auto found = gelu_arguments_.find(value);
    return found == gelu_arguments_.end() ? kNoValue : found->second;
  }

  ValueId activation(std::string name, DType dtype, Shape shape);
  [[nodiscard]] const Value& value(ValueId id) const { return program_.value(id); }
  void emit(Op op) { program_.ops.push_back(std::move(op)); }

 private:
  void add_flat_gradients();
  void find_gelus(const Program& forward);

  Program& program_;
  std::map<ValueId, ValueId> gradients_;
  std::map<ValueId, ParameterGradient> parameters_;  // by the weights' id
  std::map<ValueId, ValueId> gelu_arguments_;
};

/// Emits the reverse of `op`, or nothing when none of its results reaches the loss.
void emit_reverse(Reverse& reverse, const Op& op);

}  // namespace ds
