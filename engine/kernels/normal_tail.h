// The tail of the normal distribution, shared by all backends: the error function of GELU.
#pragma once

namespace ds {

/// `Lanes` names F32 (one number or several side by side) and broadcasts to it. In the namespace of
/// F32 are operators and fma, each correctly rounded.
template <class Lanes>
struct NormalTail {
  using F32 = typename Lanes::F32;

  /// Returns e^(a^2 / 2) * P(X > a) of a standard normal X, a >= 0. The relative error is below 4
  /// ulp. A polynomial in t = 1 / (1 + 0.21 a) for a <= 13.2, where the tail underflows; its
  /// minimax coefficients (relative error 1.2e-8) are from Remez's algorithm.
  static constexpr __attribute__((always_inline)) F32 scaled(F32 a) {
    const F32 one = number(1.0F);
    const F32 t = one / fma(a, number(0.21F), one);
    F32 p = number(-0.07226831134397427F);
    p = fma(p, t, number(0.28661116278450033F));
    p = fma(p, t, number(-0.33663671247580035F));
    p = fma(p, t, number(0.3569198171081693F));
    p = fma(p, t, number(-0.09932074705930308F));
    p = fma(p, t, number(0.1272853051597192F));
    p = fma(p, t, number(0.06853641891167837F));
    p = fma(p, t, number(0.08516783800469539F));
    p = fma(p, t, number(0.08370522647598963F));
    return p * t;
  }

 private:
  static constexpr __attribute__((always_inline)) F32 number(float x) {
    return Lanes::broadcast(x);
  }
};

}  // namespace ds
