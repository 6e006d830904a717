// Norms and the gradient of the embedding: prepares and launches their kernels.
#include "engine/device/cuda/check.h"
#include "engine/kernels/cuda/launchers.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/tensor/philox.h"

namespace ds::cuda {
namespace {

// Weight gradients of norms are summed within blocks of rows, then over the blocks in order. Both
// constants decide bits.
constexpr std::int64_t kNormBlocks = 1024;
constexpr std::int64_t kSmallestNormBlock = 16;
// Limit of a grid's second axis.
constexpr std::int64_t kMostOfGrid = 65535;

std::int64_t norm_block_rows(std::int64_t rows) {
  return std::max(kSmallestNormBlock, ceil_div(rows, kNormBlocks));
}

float* floats(const Tensor& t) {
  DS_ASSERT(!t || t.dtype == DType::f32);
  return static_cast<float*>(t.data);
}
const float* floats(const ConstTensor& t) {
  DS_ASSERT(!t || t.dtype == DType::f32);
  return static_cast<const float*>(t.data);
}

TokenSort take_sort(Scratch& scratch, std::int64_t rows) {
  return {.keys = scratch.take<std::uint32_t>(rows),
          .keys_more = scratch.take<std::uint32_t>(rows),
          .order = scratch.take<std::uint32_t>(rows),
          .order_more = scratch.take<std::uint32_t>(rows)};
}

}  // namespace

template <>
void run(Context& c, const EmbedBackward& a, cudaStream_t stream) {
  const std::int64_t width = a.dwte.shape[1], rows = a.tokens.elements();
  const std::int64_t time = a.dwpe ? a.dwpe.shape[0] : rows;
  DS_ASSERT(a.tokens.dtype == DType::i32 && a.dout.elements() == rows * width);
  DS_ASSERT((a.positions || rows % time == 0) && rows <= INT32_MAX);
  DS_ASSERT(!a.positions || (a.positions.dtype == DType::i32 && a.positions.elements() == rows));
  Scratch scratch = c.scratch();
  const auto clear = [&](const Tensor& table) {
    check(cudaMemsetAsync(table.data, 0, static_cast<std::size_t>(table.bytes()), stream),
          "EmbedBackward");
  };
  if (!a.accumulate_wte) clear(a.dwte);
  if (a.positions && !a.accumulate_wpe) clear(a.dwpe);
  check(launch_embed_backward(launch_on(c, stream), act_of(a.dout.dtype),
                              {.tokens = static_cast<const std::int32_t*>(a.tokens.data),
                               .positions = static_cast<const std::int32_t*>(a.positions.data),
                               .dout = a.dout.data,
                               .dwte = floats(a.dwte),
                               .dwpe = floats(a.dwpe),
                               .rows = rows,
                               .time = time,
                               .width = width,
                               .vocab = a.dwte.shape[0],
                               .accumulate_wpe = a.accumulate_wpe,
                               .sort = take_sort(scratch, rows)}),
        "EmbedBackward");
}

namespace {

// RMS norm has neither a mean nor a bias.
template <class Norm>
void run_norm(Context& c, const Norm& a, const void* bias, float* mean, const char* name,
              cudaStream_t stream) {
  const std::int64_t width = a.weight.elements(), rows = a.in.elements() / width;
  check(launch_norm(launch_on(c, stream), act_of(a.in.dtype),
                    {.in = a.in.data,
                     .delta = a.delta.data,
                     .weight = a.weight.data,
                     .bias = bias,
                     .sum = a.sum.data,
                     .out = a.out.data,
                     .mean = mean,
                     .rstd = floats(a.rstd),
                     .rows = rows,
                     .width = width,
                     .eps = a.eps}),
        name);
}

template <class Norm>
void run_norm_backward(Context& c, const Norm& a, const float* mean, float* dbias, const char* name,
                       cudaStream_t stream) {
  const std::int64_t width = a.weight.elements(), rows = a.in.elements() / width;
  const std::int64_t block = norm_block_rows(rows), blocks = ceil_div(rows, block);
  Scratch scratch = c.scratch();
  check(launch_norm_backward(
            launch_on(c, stream), act_of(a.in.dtype),
            {.dout = a.dout.data,
             .in = a.in.data,
             .weight = a.weight.data,
             .dresidual = a.dresidual.data,
             .mean = mean,
             .rstd = floats(a.rstd),
             .din = a.din.data,
             .dweight_parts = scratch.take<float>(blocks * width),
             .dbias_parts = mean != nullptr ? scratch.take<float>(blocks * width) : nullptr,
             .dweight = floats(a.dweight),
             .dbias = dbias,
             .rows = rows,
             .width = width,
             .block_rows = block,
             .blocks = blocks,
             .accumulate = a.accumulate}),
        name);
}

}  // namespace

template <>
void run(Context& c, const LayerNorm& a, cudaStream_t stream) {
  run_norm(c, a, a.bias.data, floats(a.mean), "LayerNorm", stream);
}

template <>
void run(Context& c, const RmsNorm& a, cudaStream_t stream) {
  run_norm(c, a, nullptr, nullptr, "RmsNorm", stream);
}

template <>
void run(Context& c, const LayerNormBackward& a, cudaStream_t stream) {
  run_norm_backward(c, a, floats(a.mean), floats(a.dbias), "LayerNormBackward", stream);
}

template <>
void run(Context& c, const RmsNormBackward& a, cudaStream_t stream) {
  run_norm_backward(c, a, nullptr, nullptr, "RmsNormBackward", stream);
}

std::size_t embed_scratch_bytes(const Kernels::Extents& e) {
  Scratch scratch;
  take_sort(scratch, e.micro * e.seq_len);
  return scratch.used();
}

std::size_t norm_scratch_bytes(const Kernels::Extents& e) {
  // Fewer rows may make more blocks, so the bound does not use the block count of one shape.
  const std::int64_t blocks =
      std::min(kNormBlocks, ceil_div(e.micro * e.seq_len, kSmallestNormBlock));
  Scratch scratch;
  scratch.take<float>(blocks * e.width);
  scratch.take<float>(blocks * e.width);
  return scratch.used();
}

}  // namespace ds::cuda
