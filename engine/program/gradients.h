// Reverse: the state of differentiate(), which the reverse rules of the ops use.
#pragma once

#include <initializer_list>
#include <map>
#include <set>

#include "engine/program/program.h"

namespace ds {

/// What differentiate() knows while it walks the forward ops backwards.
class Reverse {
 public:
  /// `program` holds the forward values and only ops that are final; reverse ops are appended.
  /// `forward` outlives this object.
  Reverse(Program& program, const Program& forward);

  /// Returns whether the gradient of a forward value is needed: whether it depends on a parameter
  /// that trains.
  [[nodiscard]] bool wants(ValueId value) const { return wanted_.contains(value); }
  /// Returns the gradient that later ops gave to `value`; kNoValue when it does not reach the loss.
  [[nodiscard]] ValueId gradient_of(ValueId value) const;
  /// Adds the gradient of one more use of `value`. The first is taken as it is; others are summed
  /// in reverse program order. Does nothing if the gradient of `value` is not needed.
  void contribute(ValueId value, ValueId gradient);
  /// Sets the gradient of `value` to `gradient`, to which its op has already added the earlier one.
  void replace(ValueId value, ValueId gradient) { gradients_[value] = gradient; }

  struct ParameterGradient {
    ValueId value = kNoValue;
    bool adds = false;  // false for the first contribution of the micro-batch
  };
  /// Returns where an op adds the gradient of a parameter tensor; kNoValue if it is frozen. Each
  /// call is one contribution.
  ParameterGradient parameter(ValueId weights);

  /// Returns the forward op that makes `value`; null if none does.
  [[nodiscard]] const Op* maker(ValueId value) const {
    const auto found = makers_.find(value);
    return found == makers_.end() ? nullptr : found->second;
  }
  /// Returns how often forward ops read `value`.
  [[nodiscard]] int readers(ValueId value) const {
    const auto found = readers_.find(value);
    return found == readers_.end() ? 0 : found->second;
  }

  ValueId activation(std::string name, DType dtype, Shape shape);
  [[nodiscard]] const Value& value(ValueId id) const { return program_.value(id); }
  /// Adds a value like `value`, for the gradient of an operand of `op`.
  ValueId gradient_like(const Op& op, std::string_view operand, ValueId value);
  /// Emits a reverse op of `op`, with the path "PATH.gradPART". `adds`: by result; missing: no.
  void emit(const Op& op, std::string_view part, OpAttrs attrs, std::vector<ValueId> in,
            std::vector<ValueId> out, std::initializer_list<bool> adds = {});

 private:
  void add_flat_gradients();
  void find_wanted(const Program& forward);

  Program& program_;
  std::map<ValueId, ValueId> gradients_;
  std::map<ValueId, ParameterGradient> parameters_;  // by the id of the weights
  std::set<ValueId> wanted_;                         // forward values, and parameters that train
  std::map<ValueId, const Op*> makers_;
  std::map<ValueId, int> readers_;
};

}  // namespace ds
