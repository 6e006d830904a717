// The function table of one instruction set. CMake compiles this file once per instruction set,
// with DS_LANES and DS_LANES_HEADER set.
#include "engine/kernels/cpu/simd/gated.h"
#include "engine/kernels/cpu/simd/pack.h"
#include "engine/kernels/cpu/simd/sums.h"
#include "engine/kernels/cpu/simd/update.h"

namespace ds::DS_LANES {

template <class Act>
constexpr cpu::ActKernels act_kernels() {
  cpu::ActKernels table = Rows<Act>::table();
  table.rms_norm = Gated<Act>::rms_norm;
  table.rms_norm_backward = Gated<Act>::rms_norm_backward;
  table.glu = Gated<Act>::glu;
  table.glu_backward = Gated<Act>::glu_backward;
  table.turn = Gated<Act>::turn;
  table.update = update<Act>;
  return table;
}

const cpu::VectorKernels& vector_kernels() {
  static constexpr cpu::VectorKernels kTable = {
      .f32 = act_kernels<float>(),
      .bf16 = act_kernels<Bf16>(),
      .f16 = act_kernels<F16>(),
      .f32_as_f32 = Packer<float, float>::table(),
      .bf16_as_f32 = Packer<Bf16, float>::table(),
      .bf16_as_bf16 = Packer<Bf16, Bf16>::table(),
      .f16_as_f32 = Packer<F16, float>::table(),
      .update_split = update_split,
      .square_leaf = square_leaf,
      .normal_block = normal_block,
      .add_tile = add_tile,
      .sum_parts = sum_parts,
      .scale_rows = scale_rows,
      .end_softmax = end_softmax,
      .add_f32 = [](const float* a, const float* b, float* out, int64_t n) {
        Rows<float>::add(a, b, out, n);
      }};
  return kTable;
}

}  // namespace ds::DS_LANES
