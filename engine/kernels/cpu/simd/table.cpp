// The table of one instruction set. CMake compiles this file once for each, with DS_LANES and
// DS_LANES_HEADER set.
#include "engine/kernels/cpu/simd/optimizer.h"
#include "engine/kernels/cpu/simd/pack.h"
#include "engine/kernels/cpu/simd/rows.h"

namespace ds::DS_LANES {

const cpu::VectorKernels& vector_kernels() {
  static constexpr cpu::VectorKernels kTable = {
      .f32 = Rows<float>::table(),
      .bf16 = Rows<Bf16>::table(),
      .f32_as_f32 = Packer<float, float>::table(),
      .bf16_as_f32 = Packer<Bf16, float>::table(),
      .bf16_as_bf16 = Packer<Bf16, Bf16>::table(),
      .adamw = adamw,
      .square_leaf = square_leaf,
      .normal_block = normal_block,
      .f32_to_bf16 = f32_to_bf16,
      .bf16_to_f32 = bf16_to_f32,
      .add_tile = add_tile,
      .sum_parts = sum_parts,
      .add_f32 = [](const float* a, const float* b, float* out, int64_t n) {
        Rows<float>::add(a, b, out, n);
      }};
  return kTable;
}

}  // namespace ds::DS_LANES
