// NonFiniteHunt: finds the first op that makes numbers that are not finite. plant_nan() plants such
// faults for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/program/program.h"

namespace ds {

/// How many elements are not finite, and the first of them.
struct NonFiniteCount {
  std::int64_t count = 0;
  std::int64_t first = 0;
  double value = 0;  // value of the first
};
/// Counts in host memory. Integers are finite.
NonFiniteCount count_non_finite(const Tensor& tensor);

/// Checks a program op by op while it runs.
class NonFiniteHunt {
 public:
  using TensorOf = std::function<Tensor(ValueId)>;
  NonFiniteHunt(const Program& program, TensorOf tensor_of)
      : program_(program), tensor_of_(std::move(tensor_of)) {}

  /// Checks, after op `index` has run, the parameters that it read and the values that it made.
  /// Only the first finding counts.
  void look(std::size_t index);
  [[nodiscard]] bool found() const { return !finding_.empty(); }
  /// Describes the finding: "block1.mlp.fc made x: 5 of 128 numbers are not finite, the first at
  /// 17: inf"; empty when everything was finite.
  [[nodiscard]] const std::string& finding() const { return finding_; }
  /// The op of the finding.
  [[nodiscard]] std::size_t op() const { return op_; }

 private:
  const Program& program_;
  TensorOf tensor_of_;
  std::string finding_;
  std::size_t op_ = 0;
};

/// Sets an element of the first output of `op` to NaN when its path is `path` (in any micro-batch).
/// Returns that value, or kNoValue.
ValueId plant_nan(const Op& op, const std::string& path,
                  const std::function<Tensor(ValueId)>& tensor_of);

}  // namespace ds
