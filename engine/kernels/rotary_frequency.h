// rotary_frequency(): the angle by which rotary positions turn a pair of elements. Pure; the same
// in every backend.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "engine/kernels/ops_attention.h"

namespace ds {

/// Returns the radians per position of pair i of `half`: theta^(-i/half), scaled. llama3 divides
/// the frequencies of waves longer than trained / low by the factor, keeps those of waves shorter
/// than trained / high, and goes from one to the other between. Source: transformers'
/// _compute_llama3_parameters, which follows Meta's Llama 3.1.
inline float rotary_frequency(const Rotary& op, std::int64_t i, std::int64_t half) {
  const RotaryScaling& s = op.scaling;
  const double power = static_cast<double>(i) / static_cast<double>(half);
  const double frequency = std::pow(static_cast<double>(op.theta), -power);
  double kept = 1;  // the share that is not divided
  if (s.kind == RotaryScaling::Kind::linear) kept = 0;
  if (s.kind == RotaryScaling::Kind::llama3) {
    const double waves = static_cast<double>(s.trained) * frequency / (2 * std::numbers::pi);
    kept = std::clamp((waves - s.low) / (s.high - s.low), 0.0, 1.0);
  }
  return static_cast<float>(kept * frequency + (1 - kept) * frequency / s.factor);
}

}  // namespace ds
