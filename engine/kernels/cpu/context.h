// Context: thread pool, function tables and scratch that every operation of the CPU backend uses.
#pragma once

#include "engine/device/cpu/thread_pool.h"
#include "engine/kernels/cpu/tile_product.h"
#include "engine/kernels/cpu/vector_kernels.h"
#include "engine/kernels/workspace.h"
#include "engine/tensor/tensor.h"

namespace ds::cpu {

struct Context {
  ThreadPool& pool;
  const VectorKernels& vector;
  TileProducts& products;
  bool bf16_products;  // false: bf16 operands are converted and multiplied in f32, as f16 always is
  std::byte* workspace = nullptr;
  std::size_t workspace_bytes = 0;

  [[nodiscard]] Scratch scratch() const { return {workspace, workspace_bytes}; }
  [[nodiscard]] const ActKernels& act(DType type) const {
    DS_ASSERT(type == DType::f32 || type == DType::bf16 || type == DType::f16);
    return type == DType::f32 ? vector.f32 : type == DType::bf16 ? vector.bf16 : vector.f16;
  }
  [[nodiscard]] const PackKernels& pack(DType type) const {
    DS_ASSERT(type == DType::f32 || type == DType::bf16 || type == DType::f16);
    if (type == DType::f32) return vector.f32_as_f32;
    if (type == DType::f16) return vector.f16_as_f32;
    return bf16_products ? vector.bf16_as_bf16 : vector.bf16_as_f32;
  }
  [[nodiscard]] Operand operand(DType type) const {
    return type == DType::bf16 && bf16_products ? Operand::bf16 : Operand::f32;
  }
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

/// Returns a pointer to element `index` of dense memory.
inline const void* at(const void* data, DType type, std::int64_t index) {
  return static_cast<const std::byte*>(data) + index * size_of(type);
}
inline void* at(void* data, DType type, std::int64_t index) {
  return static_cast<std::byte*>(data) + index * size_of(type);
}

}  // namespace ds::cpu
