// Optimizer updates in one pass over a range of parameters: unscale, clip, update, cast. The
// arithmetic is in engine/optimizers.
#pragma once

#include "engine/kernels/cpu/simd/rows.h"

namespace ds::DS_LANES {

struct LaneMath {
  static DS_LANES_INLINE F32 broadcast(float x) { return DS_LANES::broadcast(x); }
  static DS_LANES_INLINE F32 fma(F32 a, F32 b, F32 c) { return DS_LANES::fma(a, b, c); }
  static DS_LANES_INLINE F32 mul(F32 a, F32 b) { return a * b; }
  static DS_LANES_INLINE F32 sub(F32 a, F32 b) { return a - b; }
  static DS_LANES_INLINE F32 div(F32 a, F32 b) { return a / b; }
  static DS_LANES_INLINE F32 sqrt(F32 a) { return DS_LANES::sqrt(a); }
  static DS_LANES_INLINE F32 sign(F32 a) {
    const F32 zero = DS_LANES::broadcast(0.0F);
    const F32 negative = select_less(a, zero, DS_LANES::broadcast(-1.0F), zero);
    return select_less(zero, a, DS_LANES::broadcast(1.0F), negative);
  }
};

/// Access to an f32 master stored as such, with weights of type Weight derived from it.
template <class Weight>
struct WholeMaster {
  const cpu::UpdateRange& r;
  bool streams;  // store weights past the caches (they are not read soon), if they are aligned

  DS_LANES_INLINE F32 get(int64_t i) const { return load(static_cast<const float*>(r.master) + i); }
  DS_LANES_INLINE F32 get(int64_t i, int n) const {
    return load(static_cast<const float*>(r.master) + i, n);
  }
  DS_LANES_INLINE void put(int64_t i, F32 w) const {
    store(r.master + i, w);
    if (r.weights == nullptr) return;
    Weight* to = static_cast<Weight*>(r.weights) + i;
    streams ? stream(to, w) : store(to, w);
  }
  DS_LANES_INLINE void put(int64_t i, F32 w, int n) const {
    store(r.master + i, w, n);
    if (r.weights != nullptr) store(static_cast<Weight*>(r.weights) + i, w, n);
  }
};

/// Access to a master in two halves: the bf16 weights and the bits that rounding removed. Rounding
/// half away makes the difference fit 16 signed bits, so the sum of both is exactly the master's
/// bits.
struct SplitMaster {
  const cpu::UpdateRange& r;

  static DS_LANES_INLINE F32 joined(U32 weight, U32 low) {
    const U32 sign = broadcast(0x8000U);
    return from_bits(shift_left<16>(weight) + ((low ^ sign) - sign));
  }
  DS_LANES_INLINE F32 get(int64_t i) const {
    return joined(load_words(static_cast<const Bf16*>(r.weights) + i), load_words(r.low + i));
  }
  DS_LANES_INLINE F32 get(int64_t i, int n) const {
    return joined(load_words(static_cast<const Bf16*>(r.weights) + i, n), load_words(r.low + i, n));
  }
  DS_LANES_INLINE void put(int64_t i, F32 w) const {
    store(static_cast<Bf16*>(r.weights) + i, w);
    store_words(r.low + i, bits_of(w));
  }
  DS_LANES_INLINE void put(int64_t i, F32 w, int n) const {
    store(static_cast<Bf16*>(r.weights) + i, w, n);
    store_words(r.low + i, bits_of(w), n);
  }
};

/// Calls element(gradient, weight, m, v) for every element; v only if kTwoMoments.
template <bool kTwoMoments, class Master, class Element>
DS_LANES_INLINE void update_each(const cpu::UpdateRange& r, const Master& master, Element element) {
  for_lanes(
      r.n,
      [&](int64_t i) {
        F32 w = master.get(i), m = load(static_cast<const float*>(r.m) + i), v{};
        if constexpr (kTwoMoments) v = load(static_cast<const float*>(r.v) + i);
        element(load(r.grad + i), w, m, v);
        store(r.m + i, m);
        if constexpr (kTwoMoments) store(r.v + i, v);
        master.put(i, w);
      },
      [&](int64_t i, int n) {
        F32 w = master.get(i, n), m = load(static_cast<const float*>(r.m) + i, n), v{};
        if constexpr (kTwoMoments) v = load(static_cast<const float*>(r.v) + i, n);
        element(load(r.grad + i, n), w, m, v);
        store(r.m + i, m, n);
        if constexpr (kTwoMoments) store(r.v + i, v, n);
        master.put(i, w, n);
      });
}

template <class Master, std::size_t I = 0>
void update_with(const cpu::UpdateRow& row, const cpu::UpdateRange& r, const Master& master) {
  if constexpr (I < std::variant_size_v<OptimizerRule>) {
    if (static_cast<std::size_t>(row.type) != I) return update_with<Master, I + 1>(row, r, master);
    using Row = std::variant_alternative_t<I, OptimizerRule>;
    const Row rule = *static_cast<const Row*>(row.coefficients);
    update_each<Row::kTwoMoments>(r, master, [rule](F32 g, F32& w, F32& m, F32& v) {
      rule.template update<LaneMath>(g, w, m, v);
    });
  }
}

template <class Weight>
void update(const cpu::UpdateRow& row, const cpu::UpdateRange& r) {
  const bool streams = reinterpret_cast<std::uintptr_t>(r.weights) % 64 == 0;
  update_with(row, r, WholeMaster<Weight>{r, streams});
  if (r.weights != nullptr) finish_streams();
}

inline void update_split(const cpu::UpdateRow& row, const cpu::UpdateRange& r) {
  update_with(row, r, SplitMaster{r});
}

}  // namespace ds::DS_LANES
