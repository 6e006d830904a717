// The activations and their slopes in double precision, by their definitions.
#pragma once

#include "engine/kernels/activation.h"
#include "reference/values.h"

namespace ds::reference {

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

inline double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
inline double gelu_slope(double x) {
  const double a = std::sqrt(2 / M_PI), t = std::tanh(a * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * a * (1 + 3 * 0.044715 * x * x);
}

/// Returns the distribution function of the normal distribution. Below 0 std::erf would cancel.
inline double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

inline double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu_tanh:
      return gelu(x);
    case Activation::gelu_erf:
      return x * normal_below(x);
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::finite:
      return std::abs(x) > 65504 ? std::copysign(64504.0, x) : x;
  }
  return 0;
}

inline double slope_of(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu_tanh:
      return gelu_slope(x);
    case Activation::gelu_erf:
      return normal_below(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
    case Activation::relu:
      return x > 0 ? 1 : 0;
    case Activation::silu:
      return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
    case Activation::finite:
      return std::abs(x) > 65504 ? 0 : 1;
  }
  return 0;
}

/// The activations of one operand.
inline constexpr Activation kPlainActivations[] = {Activation::gelu_tanh, Activation::gelu_erf,
                                                   Activation::relu, Activation::finite};
/// The activations of gates.
inline constexpr Activation kGates[] = {Activation::silu, Activation::gelu_tanh};

}  // namespace ds::reference
