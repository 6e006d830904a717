// Shuffles, votes and reductions of a warp.
#pragma once

#include <cstring>
#include <type_traits>

#include "emulation/block.h"

namespace emulation {

/// One lane's part of a shuffle: its value, and the lane that it reads from.
struct Shuffle {
  std::uint64_t value;
  unsigned source;
  std::uint64_t result;
};
inline void shuffle_action(void* const* arguments, unsigned mask) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    auto* const own = static_cast<Shuffle*>(arguments[lane]);
    // The value of a lane outside the mask is undefined: NaN bytes.
    own->result = (mask >> own->source & 1U) != 0
                      ? static_cast<const Shuffle*>(arguments[own->source])->value
                      : ~std::uint64_t{0};
  }
}

template <class T>
T shuffle(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  Shuffle own{0, source, 0};
  std::memcpy(&own.value, &value, sizeof(T));
  warp_collective(mask, shuffle_action, &own);
  std::memcpy(static_cast<void*>(&value), &own.result, sizeof(T));
  return value;
}

struct Vote {
  bool predicate;
  unsigned result;
};
inline void vote_action(void* const* arguments, unsigned mask) {
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) != 0 && static_cast<const Vote*>(arguments[lane])->predicate) {
      votes |= 1U << lane;
    }
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) != 0) static_cast<Vote*>(arguments[lane])->result = votes;
  }
}

template <class T>
struct Reduction {
  T value, result;
};
template <class T, class Operation>
void reduce_action(void* const* arguments, unsigned mask) {
  bool first = true;
  T sum{};
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    const T value = static_cast<const Reduction<T>*>(arguments[lane])->value;
    sum = first ? value : Operation::of(sum, value);
    first = false;
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) != 0) static_cast<Reduction<T>*>(arguments[lane])->result = sum;
  }
}
template <class Operation, class T>
T reduce(unsigned mask, T value) {
  Reduction<T> own{value, {}};
  warp_collective(mask, reduce_action<T, Operation>, &own);
  return own.result;
}
struct Add {
  static unsigned of(unsigned a, unsigned b) { return a + b; }
  static int of(int a, int b) {
    return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return a < b ? b : a;
  }
};
struct And {
  static unsigned of(unsigned a, unsigned b) { return a & b; }
};
struct Or {
  static unsigned of(unsigned a, unsigned b) { return a | b; }
};
struct Xor {
  static unsigned of(unsigned a, unsigned b) { return a ^ b; }
};

inline unsigned segment(int width) { return lane() & ~(static_cast<unsigned>(width) - 1U); }

}  // namespace emulation

inline void __syncwarp(unsigned mask = 0xFFFFFFFFU) {
  emulation::warp_collective(mask, nullptr, nullptr);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const unsigned within = static_cast<unsigned>(source) & (static_cast<unsigned>(width) - 1U);
  return emulation::shuffle(mask, value, emulation::segment(width) | within);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  const unsigned source = emulation::lane() ^ static_cast<unsigned>(lanes);
  const unsigned end = emulation::segment(width) + static_cast<unsigned>(width);
  return emulation::shuffle(mask, value, source < end ? source : emulation::lane());
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width = 32) {
  const unsigned source = emulation::lane() + lanes;
  const unsigned end = emulation::segment(width) + static_cast<unsigned>(width);
  return emulation::shuffle(mask, value, source < end ? source : emulation::lane());
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned lanes, int width = 32) {
  const unsigned own = emulation::lane();
  const bool inside = own >= emulation::segment(width) + lanes;
  return emulation::shuffle(mask, value, inside ? own - lanes : own);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  emulation::Vote own{predicate != 0, 0};
  emulation::warp_collective(mask, emulation::vote_action, &own);
  return own.result;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) == mask;
}
inline unsigned __activemask() { return emulation::live_lanes(); }

inline unsigned __reduce_add_sync(unsigned mask, unsigned v) {
  return emulation::reduce<emulation::Add>(mask, v);
}
inline int __reduce_add_sync(unsigned mask, int v) {
  return emulation::reduce<emulation::Add>(mask, v);
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned v) {
  return emulation::reduce<emulation::Min>(mask, v);
}
inline int __reduce_min_sync(unsigned mask, int v) {
  return emulation::reduce<emulation::Min>(mask, v);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned v) {
  return emulation::reduce<emulation::Max>(mask, v);
}
inline int __reduce_max_sync(unsigned mask, int v) {
  return emulation::reduce<emulation::Max>(mask, v);
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned v) {
  return emulation::reduce<emulation::And>(mask, v);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned v) {
  return emulation::reduce<emulation::Or>(mask, v);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned v) {
  return emulation::reduce<emulation::Xor>(mask, v);
}
