// CUDA's functions for memory.
#include <sys/mman.h>

#include <cstring>
#include <memory>

#include "runtime.h"

namespace emulation {
namespace {

struct Rows {
  std::byte* to;
  const std::byte* from;
  std::size_t to_pitch, from_pitch, width, height;

  void copy() const {
    for (std::size_t row = 0; row < height; ++row) {
      std::memmove(to + row * to_pitch, from + row * from_pitch, width);
    }
  }
  static std::size_t extent(std::size_t pitch, std::size_t width, std::size_t height) {
    return pitch * (height - 1) + width;
  }
};

bool direction_fits(cudaMemcpyKind kind, cudaMemoryType to, cudaMemoryType from) {
  const bool to_device = to == cudaMemoryTypeDevice, from_device = from == cudaMemoryTypeDevice;
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !to_device && !from_device;
    case cudaMemcpyHostToDevice:
      return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
      return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
      return to_device && from_device;
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

/// As in CUDA's programming guide: pageable memory is read or written before the call returns; all
/// other copies run in the stream's order.
cudaError_t copy_rows(Runtime& runtime, Held& held, const Rows& rows, cudaMemcpyKind kind,
                      cudaStream_t stream) {
  if (rows.width == 0 || rows.height == 0) return cudaSuccess;
  if (rows.width > rows.to_pitch || rows.width > rows.from_pitch) return cudaErrorInvalidValue;
  const cudaMemoryType to = runtime.memory.type_of(rows.to);
  const cudaMemoryType from = runtime.memory.type_of(rows.from);
  if (!direction_fits(kind, to, from)) return cudaErrorInvalidMemcpyDirection;
  const bool to_pageable = to == cudaMemoryTypeUnregistered;
  const bool from_pageable = from == cudaMemoryTypeUnregistered;
  if ((!to_pageable &&
       !runtime.memory.reachable(rows.to, Rows::extent(rows.to_pitch, rows.width, rows.height))) ||
      (!from_pageable && !runtime.memory.reachable(
                             rows.from, Rows::extent(rows.from_pitch, rows.width, rows.height)))) {
    return cudaErrorInvalidValue;
  }
  if (from_pageable) {
    if (const cudaError_t status = runtime.wait_for_stream(held, stream); status != cudaSuccess) {
      return status;
    }
    const auto staged = std::make_shared<std::vector<std::byte>>(rows.width * rows.height);
    Rows{staged->data(), rows.from, rows.width, rows.from_pitch, rows.width, rows.height}.copy();
    const Rows later{rows.to, staged->data(), rows.to_pitch, rows.width, rows.width, rows.height};
    const cudaError_t status = runtime.enqueue(held, stream, {.attempt = [staged, later] {
                                                 later.copy();
                                                 return cudaSuccess;
                                               }});
    if (status != cudaSuccess || !to_pageable) return status;
    return runtime.wait_for_stream(held, stream);
  }
  const cudaError_t status = runtime.enqueue(held, stream, {.attempt = [rows] {
                                               rows.copy();
                                               return cudaSuccess;
                                             }});
  if (status != cudaSuccess || !to_pageable) return status;
  return runtime.wait_for_stream(held, stream);
}

cudaError_t fill_rows(Runtime& runtime, Held& held, const Rows& rows, int value,
                      cudaStream_t stream) {
  if (rows.width == 0 || rows.height == 0) return cudaSuccess;
  if (!runtime.memory.reachable(rows.to, Rows::extent(rows.to_pitch, rows.width, rows.height))) {
    return cudaErrorInvalidValue;
  }
  return runtime.enqueue(held, stream, {.attempt = [rows, value] {
                           for (std::size_t row = 0; row < rows.height; ++row) {
                             std::memset(rows.to + row * rows.to_pitch, value, rows.width);
                           }
                           return cudaSuccess;
                         }});
}

cudaError_t free_piece(void* data, cudaMemoryType type) {
  return with_device([&](Runtime& runtime, Held& held) {
    if (data == nullptr) return cudaSuccess;
    if (const cudaError_t status = runtime.wait_for_all(held); status != cudaSuccess) return status;
    std::string complaint;
    if (!runtime.memory.release(data, type, &complaint)) return cudaErrorInvalidValue;
    if (complaint.empty()) return cudaSuccess;
    return runtime.fault(cudaErrorIllegalAddress, "given back: " + complaint);
  });
}

}  // namespace
}  // namespace emulation

using namespace emulation;

extern "C" {

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return with_device([&](Runtime& runtime, Held&) {
    *total = runtime.knobs.memory;
    *free = runtime.capacity() - runtime.memory.used();
    return cudaSuccess;
  });
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  return with_device([&](Runtime& runtime, Held&) {
    *data = nullptr;
    if (bytes == 0) return cudaSuccess;
    *data = runtime.memory.allocate(bytes, runtime.capacity());
    return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}
cudaError_t cudaFree(void* data) { return free_piece(data, cudaMemoryTypeDevice); }

cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  return with_device([&](Runtime& runtime, Held&) {
    *data = runtime.memory.allocate_host(bytes);
    return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}
cudaError_t cudaMallocHost(void** data, std::size_t bytes) { return cudaHostAlloc(data, bytes, 0); }
cudaError_t cudaFreeHost(void* data) { return free_piece(data, cudaMemoryTypeHost); }

cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned) {
  return with_device([&](Runtime& runtime, Held&) { return runtime.memory.enlist(data, bytes); });
}
cudaError_t cudaHostUnregister(void* data) {
  return with_device([&](Runtime& runtime, Held& held) {
    const cudaError_t status = runtime.wait_for_all(held);
    return status != cudaSuccess ? status : runtime.memory.strike_off(data);
  });
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return with_device([&](Runtime& runtime, Held&) {
    *device = host;
    return runtime.memory.type_of(host) == cudaMemoryTypeHost ? cudaSuccess : cudaErrorInvalidValue;
  });
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  *flags = cudaHostRegisterPortable | cudaHostRegisterMapped;
  void* device = nullptr;
  return cudaHostGetDevicePointer(&device, host, 0);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  return with_device([&](Runtime& runtime, Held&) {
    auto* const plain = const_cast<void*>(data);
    const cudaMemoryType type = runtime.memory.type_of(data);
    *attributes = {type, type == cudaMemoryTypeUnregistered ? -2 : 0,
                   type == cudaMemoryTypeUnregistered ? nullptr : plain,
                   type == cudaMemoryTypeDevice ? nullptr : plain};
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return with_device([&](Runtime& runtime, Held& held) {
    return copy_rows(runtime, held,
                     {static_cast<std::byte*>(to), static_cast<const std::byte*>(from), to_pitch,
                      from_pitch, width, height},
                     kind, stream);
  });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return status != cudaSuccess ? status : cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemset2DAsync(void* data, std::size_t pitch, int value, std::size_t width,
                              std::size_t height, cudaStream_t stream) {
  return with_device([&](Runtime& runtime, Held& held) {
    return fill_rows(runtime, held,
                     {static_cast<std::byte*>(data), nullptr, pitch, 0, width, height}, value,
                     stream);
  });
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  return cudaMemset2DAsync(data, bytes, value, bytes, 1, stream);
}
cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  const cudaError_t status = cudaMemsetAsync(data, value, bytes, nullptr);
  return status != cudaSuccess ? status : cudaStreamSynchronize(nullptr);
}

}  // extern "C"
