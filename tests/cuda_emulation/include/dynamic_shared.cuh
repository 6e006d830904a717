// Shared memory whose size the launch sets: replaces engine/device/cuda/ptx/dynamic_shared.cuh.
#pragma once

#include "emulation/block.h"

namespace ds::cuda {

template <class T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(::emulation::dynamic_shared_bytes);
}

}  // namespace ds::cuda
