// The floating-point mode that every computing thread must have: round to nearest, denormals kept,
// no traps.
#pragma once

#include <xmmintrin.h>

namespace ds {

/// MXCSR without its sticky flags: all exceptions masked, round to nearest, FTZ = DAZ = 0.
/// Denormals are kept because AdamW's second moments can be that small and the GPU keeps them too.
inline constexpr unsigned kFloatState = 0x1F80;
inline constexpr unsigned kFloatStateMask = 0xFFC0;

inline bool float_state_is_right() { return (_mm_getcsr() & kFloatStateMask) == kFloatState; }
inline void set_float_state() { _mm_setcsr(kFloatState); }

/// Sets the mode for a scope and restores the caller's mode.
class FloatStateScope {
 public:
  FloatStateScope() : saved_(_mm_getcsr()) {
    if (!float_state_is_right()) set_float_state();
  }
  ~FloatStateScope() {
    if ((saved_ & kFloatStateMask) != kFloatState) _mm_setcsr(saved_);
  }
  FloatStateScope(const FloatStateScope&) = delete;
  FloatStateScope& operator=(const FloatStateScope&) = delete;

 private:
  unsigned saved_;
};

}  // namespace ds
