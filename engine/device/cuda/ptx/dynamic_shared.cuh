// dynamic_shared(): access to shared memory whose size the launch sets.
#pragma once

namespace ds::cuda {

/// Returns the block's dynamic shared memory, aligned to 128 bytes.
template <class T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char ds_dynamic_shared_bytes[];
  return reinterpret_cast<T*>(ds_dynamic_shared_bytes);
}

}  // namespace ds::cuda
