// Linear layers: forward with its epilogues, input gradient, weight and bias gradients.
#include <algorithm>

#include "engine/device/cuda/check.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/cuda/product_kernels.h"
#include "engine/kernels/cuda/products.h"

namespace ds::cuda {
namespace {

constexpr std::int64_t kAuxMultiple = 8;  // the library's multiple for rows of its auxiliary matrix

/// Only for bf16: the library's tanh is as accurate as that type, and no better is documented. The
/// library has neither the slope of GELU with erf nor one of ReLU that reads ReLU's argument.
bool may_fuse_slope(const LinearBackwardInput& a, std::int64_t k) {
  return a.pre && a.activation == Activation::gelu_tanh && a.din.dtype == DType::bf16 &&
         k % kAuxMultiple == 0;
}

bool is_16_bits(DType type) { return type == DType::bf16 || type == DType::f16; }

/// Computes GELU inside the product, from its sums before they are rounded to `pre`. Returns false
/// and does nothing if fusing was not chosen or the library has no algorithm.
bool run_fused_gelu(Context& c, Product product, const Linear& a, std::byte* workspace,
                    cudaStream_t stream) {
  auto& products = static_cast<Products&>(*c.products);
  if (!products.fuses() || !is_16_bits(product.type) || product.n % kAuxMultiple != 0) return false;
  product.epilogue = a.bias ? ProductEpilogue::bias_gelu : ProductEpilogue::gelu;
  product.out = a.out.data;
  product.second = a.pre.data;
  return products.run(product, workspace, stream);
}

/// Computes the bias gradient inside the weight gradient's product. Returns false as above. The
/// library overwrites its sums and also chooses an algorithm by their address. It therefore gets
/// `scratch` if dbias accumulates or is unaligned, so that one shape has one algorithm.
bool run_fused_sums(Context& c, Product product, const LinearBackwardWeight& a, float* scratch,
                    std::byte* workspace, cudaStream_t stream) {
  constexpr std::int64_t kEven = 16;
  auto& products = static_cast<Products&>(*c.products);
  if (!products.fuses() || !a.dbias || !is_16_bits(product.type)) return false;
  const bool direct = !a.accumulate && alignment_of(a.dbias.data) == kEven;
  product.epilogue = ProductEpilogue::column_sums;
  product.second = direct ? a.dbias.data : scratch;
  if (!products.run(product, workspace, stream)) return false;
  if (!direct) {
    check(launch_take_sums(scratch, product.n, static_cast<float*>(a.dbias.data), a.accumulate,
                           stream),
          "storing a bias gradient");
  }
  return true;
}

}  // namespace

template <>
void run(Context& c, const Linear& a, cudaStream_t stream) {
  const std::int64_t k = a.weight.shape[0], n = a.weight.shape[1], rows = a.in.elements() / k;
  const bool activates = a.epilogue == Linear::Epilogue::activation;
  DS_ASSERT(a.out.elements() == rows * n && (!a.bias || a.bias.elements() == n));
  DS_ASSERT(activates == static_cast<bool>(a.pre));
  Scratch scratch = c.scratch();
  auto* workspace = scratch.take<std::byte>(kProductWorkspace);
  const Product product{.m = rows,
                        .n = n,
                        .k = k,
                        .type = a.in.dtype,
                        .out_type = a.in.dtype,
                        .a = {a.in.data, k},
                        .b = {a.weight.data, n},
                        .out = activates ? a.pre.data : a.out.data,
                        .out_row_length = n,
                        .epilogue = a.bias ? ProductEpilogue::bias : ProductEpilogue::none,
                        .extra = a.bias.data};
  const bool gelu = activates && a.activation == Activation::gelu_tanh;
  if (gelu && run_fused_gelu(c, product, a, workspace, stream)) return;
  multiply(c, product, workspace, stream);
  // Outside of the library's epilogue, unless fusing was chosen: the epilogue takes GELU of the
  // unrounded `pre`, and a recomputed GELU, which has only the rounded `pre`, must give these bits.
  // GELU with erf and ReLU are never fused: the library's auxiliary matrix of ReLU is a bit mask.
  if (activates) {
    run(c, Activate{.in = a.pre, .out = a.out, .activation = a.activation}, stream);
  }
}

template <>
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
  if (!a.pre || fused) return;
  run(c, ActivateBackward{.pre = a.pre, .dout = a.din, .din = a.din, .activation = a.activation},
      stream);
}

template <>
void run(Context& c, const LinearBackwardWeight& a, cudaStream_t stream) {
  const std::int64_t k = a.in.shape[1], n = a.dout.shape[1], rows = a.in.shape[0];
  DS_ASSERT(a.dout.elements() == rows * n && rows > 0);
  Scratch scratch = c.scratch();
  DS_ASSERT(!a.dbias || a.dbias.elements() == n);
  auto* workspace = scratch.take<std::byte>(kProductWorkspace);
  auto* partials = a.dbias ? scratch.take<float>(column_sum_partials(rows, n)) : nullptr;
  const Product product{.m = k,
                        .n = n,
                        .k = rows,
                        .type = a.in.dtype,
                        .out_type = DType::f32,
                        .a = {a.in.data, k, true},
                        .b = {a.dout.data, n},
                        .out = a.dweight.data,
                        .out_row_length = n,
                        .accumulate = a.accumulate};
  if (a.dweight) {
    if (run_fused_sums(c, product, a, partials, workspace, stream)) return;
    multiply(c, product, workspace, stream);
  }
  if (!a.dbias) return;
  // Uses our own kernel unless fusing was chosen: the library's sums overwrite, affect the choice
  // of the product's algorithm, and promise no order.
  check(launch_column_sums({act_of(a.dout.dtype), rows, n, n}, a.dout.data, partials,
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
  // Widest results: queries, keys and values, or gates and ups of a gated unit.
  const std::int64_t widest =
      std::max({3 * e.width, (e.heads + 2 * kv_heads) * head_size, 2 * e.ffn});
  Scratch scratch;
  scratch.take<std::byte>(kProductWorkspace);
  scratch.take<float>(column_sum_partials(rows, widest));
  return scratch.used();
}

}  // namespace ds::cuda
