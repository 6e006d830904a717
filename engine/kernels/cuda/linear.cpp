// Linear layers: forward with its epilogues, input gradient, weight and bias gradient.
#include <algorithm>

#include "engine/device/cuda/check.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/cuda/product_kernels.h"
#include "engine/kernels/cuda/products.h"

namespace ds::cuda {
namespace {

/// Of bf16 only: the library's tanh is as good as that type, and no better is promised.
bool may_fuse_slope(const LinearBackwardInput& a, std::int64_t k) {
  constexpr std::int64_t kAuxMultiple = 8;  // of the library: rows of its auxiliary matrix
  return a.pre && a.din.dtype == DType::bf16 && k % kAuxMultiple == 0;
}

}  // namespace

void run(Context& c, const Linear& a, cudaStream_t stream) {
  const std::int64_t k = a.weight.shape[0], n = a.weight.shape[1], rows = a.in.elements() / k;
  const bool gelu = a.epilogue == Linear::Epilogue::gelu;
  DS_ASSERT(a.out.elements() == rows * n && (!a.bias || a.bias.elements() == n));
  DS_ASSERT(gelu == static_cast<bool>(a.pre));
  Scratch scratch = c.scratch();
  auto* workspace = scratch.take<std::byte>(kProductWorkspace);
  const Tensor& product = gelu ? a.pre : a.out;
  multiply(c,
           {.m = rows,
            .n = n,
            .k = k,
            .type = a.in.dtype,
            .out_type = a.in.dtype,
            .a = {a.in.data, k},
            .b = {a.weight.data, n},
            .out = product.data,
            .out_row_length = n,
            .epilogue = a.bias ? ProductEpilogue::bias : ProductEpilogue::none,
            .extra = a.bias.data},
           workspace, stream);
  // Not in the library's epilogue, which takes GELU of what `pre` was before it was rounded: a
  // recomputed GELU, which has only `pre`, must give these bits.
  if (gelu) run(c, Gelu{.in = a.pre, .out = a.out}, stream);
}

void run(Context& c, const LinearBackwardInput& a, cudaStream_t stream) {
  const std::int64_t k = a.weight.shape[0], n = a.weight.shape[1], rows = a.dout.elements() / n;
  DS_ASSERT(a.din.elements() == rows * k && (!a.pre || a.pre.elements() == rows * k));
  const bool fused = may_fuse_slope(a, k);
  Scratch scratch = c.scratch();
  auto* workspace = scratch.take<std::byte>(kProductWorkspace);
  multiply(c,
           {.m = rows,
            .n = k,
            .k = n,
            .type = a.dout.dtype,
            .out_type = a.dout.dtype,
            .a = {a.dout.data, n},
            .b = {a.weight.data, n, true},
            .out = a.din.data,
            .out_row_length = k,
            .epilogue = fused ? ProductEpilogue::gelu_slope : ProductEpilogue::none,
            .extra = fused ? a.pre.data : nullptr},
           workspace, stream);
  if (a.pre && !fused) run(c, GeluBackward{.pre = a.pre, .dout = a.din, .din = a.din}, stream);
}

void run(Context& c, const LinearBackwardWeight& a, cudaStream_t stream) {
  const std::int64_t k = a.dweight.shape[0], n = a.dweight.shape[1], rows = a.in.elements() / k;
  DS_ASSERT(a.dout.elements() == rows * n && rows > 0);
  Scratch scratch = c.scratch();
  auto* workspace = scratch.take<std::byte>(kProductWorkspace);
  multiply(c,
           {.m = k,
            .n = n,
            .k = rows,
            .type = a.in.dtype,
            .out_type = DType::f32,
            .a = {a.in.data, k, true},
            .b = {a.dout.data, n},
            .out = a.dweight.data,
            .out_row_length = n,
            .accumulate = a.accumulate},
           workspace, stream);
  if (!a.dbias) return;
  DS_ASSERT(a.dbias.elements() == n);
  // By a kernel of our own: the library's bias gradient overwrites, takes part in a product's
  // choice of algorithm, and promises no order.
  auto* partials = scratch.take<float>(column_sum_partials(rows, n));
  check(launch_column_sums(act_of(a.dout.dtype), a.dout.data, rows, n, partials,
                           static_cast<float*>(a.dbias.data), a.accumulate, stream),
        "summing a bias gradient");
}

std::size_t linear_scratch_bytes(const Kernels::Extents& e) {
  const std::int64_t rows = e.micro * e.seq_len;
  if (rows == 0 || e.width == 0) return 0;
  const std::int64_t head_size = e.head_size > 0 ? e.head_size
                                 : e.heads > 0   ? e.width / e.heads
                                                 : 0;
  const std::int64_t kv_heads = e.kv_heads > 0 ? e.kv_heads : e.heads;
  // Widths of results: queries, keys and values; gates and ups of a SwiGLU.
  const std::int64_t widest =
      std::max({3 * e.width, (e.heads + 2 * kv_heads) * head_size, 2 * e.ffn});
  Scratch scratch;
  scratch.take<std::byte>(kProductWorkspace);
  scratch.take<float>(column_sum_partials(rows, widest));
  return scratch.used();
}

}  // namespace ds::cuda
