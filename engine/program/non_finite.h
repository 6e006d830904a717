// Where a step goes wrong: the first operation that makes numbers that are not finite, and planted
// faults that try it.
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
  double value = 0;  // of the first
};
/// `tensor` in host memory; integers are finite.
NonFiniteCount count_non_finite(const Tensor& tensor);

/// Watches a program run, op by op.
class NonFiniteHunt {
 public:
  using TensorOf = std::function<Tensor(ValueId)>;
  NonFiniteHunt(const Program& program, TensorOf tensor_of)
      : program_(program), tensor_of_(std::move(tensor_of)) {}

  /// After op `index` has run: looks at what it read of the parameters, and at what it made. Only
  /// the first finding counts.
  void look(std::size_t index);
  [[nodiscard]] bool found() const { return !finding_.empty(); }
  /// "block1.mlp.fc@0 made 5 numbers of 128 that are not finite, the first at 17: inf"; empty when
  /// all was finite.
  [[nodiscard]] const std::string& finding() const { return finding_; }
  /// The op of the finding.
  [[nodiscard]] std::size_t op() const { return op_; }

 private:
  const Program& program_;
  TensorOf tensor_of_;
  std::string finding_;
  std::size_t op_ = 0;
};

/// Makes the first output of `op` NaN, when its path is `path` (of any micro-batch), and says which
/// value that is.
ValueId plant_nan(const Op& op, const std::string& path,
                  const std::function<Tensor(ValueId)>& tensor_of);

}  // namespace ds
