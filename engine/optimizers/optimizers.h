// The optimizers: one row each. A row is a struct with a name, its number of moments, the
// coefficients that all elements of a step share, and the arithmetic of one element.
//
// A row has these members:
//   kName                 the value of optimizer.type
//   kTwoMoments           whether it keeps `v` beside `m`
//   from(numbers)         makes the coefficients, on the host
//   without_decay()       returns them for parameters without weight decay
//   update<Math>(grad, weight, m, v)   updates one element, or one vector of elements. `Math` gives
//                         broadcast(float), fma(a, b, c), mul, sub, div, sqrt and sign (1, 0 or
//                         -1), each correctly rounded, so that every width and device gives the
//                         same bits
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "engine/optimizers/adam_l2.h"
#include "engine/optimizers/adamw.h"
#include "engine/optimizers/lion.h"
#include "engine/optimizers/sgd.h"

namespace ds {

/// In the order of OptimizerRule.
enum class OptimizerType : std::uint8_t { adamw, adam_l2, sgd, lion };

/// The coefficients of one step.
using OptimizerRule = std::variant<AdamW, AdamL2, Sgd, Lion>;

/// What is known of an optimizer without its numbers.
struct OptimizerFacts {
  std::string_view name;
  bool two_moments;
};

namespace optimizers_detail {
template <class... Rows>
constexpr auto facts_of(const std::variant<Rows...>*) {
  return std::array{OptimizerFacts{Rows::kName, Rows::kTwoMoments}...};
}
template <class... Rows>
OptimizerRule rule_of(const std::variant<Rows...>*, OptimizerType type,
                      const OptimizerNumbers& numbers) {
  constexpr OptimizerRule (*kMakers[])(const OptimizerNumbers&) = {
      [](const OptimizerNumbers& n) -> OptimizerRule { return Rows::from(n); }...};
  return kMakers[static_cast<std::size_t>(type)](numbers);
}
}  // namespace optimizers_detail

inline constexpr auto kOptimizers =
    optimizers_detail::facts_of(static_cast<const OptimizerRule*>(nullptr));

constexpr const OptimizerFacts& facts_of(OptimizerType type) {
  return kOptimizers[static_cast<std::size_t>(type)];
}

inline OptimizerRule rule_of(OptimizerType type, const OptimizerNumbers& numbers) {
  return optimizers_detail::rule_of(static_cast<const OptimizerRule*>(nullptr), type, numbers);
}

inline OptimizerRule without_decay(const OptimizerRule& rule) {
  return std::visit([](const auto& row) -> OptimizerRule { return row.without_decay(); }, rule);
}

}  // namespace ds
