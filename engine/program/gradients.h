// Reverse: the state of differentiate(), and emit_reverse(), a table with one function per op.
#pragma once

#include <map>

#include "engine/program/program.h"

namespace ds {

/// What differentiate() knows while it walks the forward ops backwards.
class Reverse {
 public:
  /// `program` holds the forward values and only ops that are final; reverse ops are appended.
  Reverse(Program& program, const Program& forward);

  /// Returns the gradient that later ops gave to `value`; kNoValue when it does not reach the loss.
  [[nodiscard]] ValueId gradient_of(ValueId value) const;
  /// Adds the gradient of one more use of `value`. The first is taken as it is; others are summed
  /// in reverse program order.
  void contribute(ValueId value, ValueId gradient);
  /// Sets the gradient of `value` to `gradient`, to which its op has already added the earlier one.
  void replace(ValueId value, ValueId gradient) { gradients_[value] = gradient; }

  struct ParameterGradient {
    ValueId value;
    bool accumulate;  // false for the first contribution of the micro-batch
  };
  /// Returns where an op adds the gradient of a parameter tensor. Each call is one contribution.
  ParameterGradient parameter(ValueId weights);

  /// Returns the argument of the GELU whose result is `value` and is read only by one linear layer;
  /// else kNoValue. That layer's reverse computes the argument's gradient directly.
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
  std::map<ValueId, ParameterGradient> parameters_;  // by the id of the weights
  std::map<ValueId, ValueId> gelu_arguments_;
};

/// Emits the reverse of `op`; emits nothing when no result of `op` reaches the loss.
void emit_reverse(Reverse& reverse, const Op& op);

}  // namespace ds
