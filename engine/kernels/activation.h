// Activation: the functions between the linear layers of a feed-forward network.
#pragma once

#include <cstdint>
#include <string_view>

namespace ds {

/// gelu_tanh: x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3), which GPT-2 and T5 1.1 use.
/// gelu_erf:  x * P(x), P = the distribution function of the normal distribution, which BERT uses.
/// relu:      max(x, 0); its slope at 0 is 0.
/// silu:      x / (1 + e^-x); only as the gate of a Glu.
/// finite:    x, but 64504 in place of infinity; its slope there is 0. T5 keeps fp16's sums of
///            branches finite so; 64504 is 1000 below the largest number of fp16.
/// Source of the first two: Hendrycks and Gimpel, arXiv:1606.08415.
enum class Activation : std::uint8_t { gelu_tanh, gelu_erf, relu, silu, finite };

/// What stands for infinity after Activation::finite, and the largest finite number of fp16.
inline constexpr float kInPlaceOfInfinity = 64504.0F, kLargestF16 = 65504.0F;

/// Returns whether a Glu can have it.
constexpr bool is_gate(Activation activation) {
  return activation == Activation::silu || activation == Activation::gelu_tanh;
}

/// Returns the word of programs. Programs were printed before there was a choice, so "gelu" is the
/// one with tanh.
constexpr std::string_view name_of(Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh:
      return "gelu";
    case Activation::gelu_erf:
      return "gelu_erf";
    case Activation::relu:
      return "relu";
    case Activation::silu:
      return "silu";
    case Activation::finite:
      return "finite";
  }
  return "";
}

}  // namespace ds
