// Tests GELU and bias gradients in the library's epilogues: values against the reference,
// accumulation, and the fallbacks where the library lacks the epilogue.
#include "products_bench.h"

namespace ds::conformance {
namespace {

struct Sizes {
  std::int64_t rows, k, n;
};
// In the last two, rows of `pre` are not multiples of 8: GELU stays a separate kernel.
constexpr Sizes kSizes[] = {{64, 32, 48}, {300, 264, 40}, {1, 8, 8}, {33, 65, 17}, {40, 16, 20}};

std::size_t u(std::int64_t x) { return static_cast<std::size_t>(x); }

Kernels::Extents extents_of(const Sizes& s, DType act) {
  return {.micro = 1, .seq_len = s.rows, .width = s.k, .ffn = s.n, .act = act};
}

class FusedBench : public ProductsBench {
 public:
  FusedBench(const Sizes& s, DType act, const CudaOptions& options = {})
      : ProductsBench(extents_of(s, act), options, {}, true) {}
};

Values gelu_of(const Values& in) {
  Values out;
  for (const double x : in) out.push_back(reference::gelu(x));
  return out;
}

/// Results of the forward product: GELU and its argument.
struct Forward {
  Forward(ProductsBench& bench, const Sizes& s, DType act, bool with_bias = true)
      : out(act, {s.rows, s.n}), pre(act, {s.rows, s.n}) {
    Buffer in = random_buffer(act, {s.rows, s.k}, 1), weight = random_buffer(act, {s.k, s.n}, 2),
           bias = random_buffer(act, {s.n}, 3);
    Linear op{.in = in.view(),
              .weight = weight.view(),
              .out = out.tensor(),
              .pre = pre.tensor(),
              .epilogue = Linear::Epilogue::activation};
    if (with_bias) op.bias = bias.view();
    bench.run(op);
    want = with_bias ? reference::linear(in.values(), weight.values(), bias.values(), u(s.k))
                     : reference::product(in.values(), weight.values(), u(s.rows), u(s.k), u(s.n));
  }
  Buffer out, pre;
  Values want;
};

/// Results of the weight gradient, computed twice: overwritten, then accumulated.
struct Backward {
  Backward(ProductsBench& bench, const Sizes& s, DType act)
      : dweight(DType::f32, {s.k, s.n}), dbias(Buffer::of(DType::f32, {s.n}, Values(u(s.n), 7.0))) {
    Buffer in = random_buffer(act, {s.rows, s.k}, 1), dout = random_buffer(act, {s.rows, s.n}, 4);
    LinearBackwardWeight op{
        .in = in.view(), .dout = dout.view(), .dweight = dweight.tensor(), .dbias = dbias.tensor()};
    bench.run(op);
    once = dbias.values();
    op.accumulate = true;
    bench.run(op);
    want_weight = reference::product(reference::transposed(in.values(), u(s.rows), u(s.k)),
                                     dout.values(), u(s.k), u(s.rows), u(s.n));
    want_bias = reference::column_sums(dout.values(), u(s.n));
  }
  void check() {
    Buffer first = Buffer::of(DType::f32, {static_cast<std::int64_t>(once.size())}, once);
    check_close("dbias", first, want_bias, DType::f32);
    for (double& x : want_weight) x *= 2;
    for (double& x : want_bias) x *= 2;
    check_close("dweight twice", dweight, want_weight, DType::f32);
    check_close("dbias twice", dbias, want_bias, DType::f32);
  }
  Buffer dweight, dbias;
  Values once, want_weight, want_bias;
};

void check_ways(FusedBench& bench, const Sizes& s, DType act, bool library_has_it) {
  const bool sums = library_has_it && act != DType::f32;
  CHECK(bench.named(", column sums: cublasLt") == (sums ? 1U : 0U));
  CHECK(bench.named("GELU: cublasLt") == (sums && s.n % 8 == 0 ? 2U : 0U));
}

}  // namespace

TEST_CASE("fused epilogues: right for every shape, whatever the library supports") {
  for (const char* const name : {"", "none", "no-epilogue", "broken-first"}) {
    CAPTURE(name);
    const Behaviour behaviour(name);
    const bool has_it = name[0] == 0 || name[0] == 'b';
    for (const DType act : kActTypes) {
      CAPTURE(name_of(act));
      for (const Sizes& s : kSizes) {
        CAPTURE(s.k);
        FusedBench bench(s, act);
        for (const bool with_bias : {true, false}) {
          Forward forward(bench, s, act, with_bias);
          check_close("pre", forward.pre, forward.want, act);
          check_close("gelu", forward.out, gelu_of(forward.want), act);
        }
        Backward(bench, s, act).check();
        check_ways(bench, s, act, has_it);
      }
    }
  }
}

TEST_CASE("fused epilogues: GELU uses its unrounded argument") {
  const Sizes s{64, 32, 48};
  FusedBench fused(s, DType::bf16);
  ProductsBench exact(extents_of(s, DType::bf16));
  Forward ours(exact, s, DType::bf16), library(fused, s, DType::bf16);
  CHECK((ours.pre.bits() == library.pre.bits()));
  CHECK((ours.out.bits() != library.out.bits()));
  CHECK(exact.named("GELU") == 0);
}

TEST_CASE("fused epilogues: one shape has one algorithm, wherever dbias is") {
  const Sizes s{300, 264, 40};
  constexpr std::int64_t kPart = 1 << 20;
  FusedBench bench(s, DType::bf16);
  Buffer in = random_buffer(DType::bf16, {s.rows, s.k}, 1),
         dout = random_buffer(DType::bf16, {s.rows, s.n}, 4);
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 4 * kPart) == cudaSuccess);
  auto* const bytes = static_cast<std::byte*>(memory);
  std::memcpy(bytes, in.view().data, static_cast<std::size_t>(in.view().bytes()));
  std::memcpy(bytes + kPart, dout.view().data, static_cast<std::size_t>(dout.view().bytes()));
  std::vector<std::vector<float>> seen;
  for (const std::int64_t offset : {0, 4, 8}) {
    auto* const dbias = reinterpret_cast<float*>(bytes + 3 * kPart + offset);
    std::fill_n(dbias, s.n, 7.0F);
    LinearBackwardWeight op{.in = {bytes, DType::bf16, {s.rows, s.k}},
                            .dout = {bytes + kPart, DType::bf16, {s.rows, s.n}},
                            .dweight = {bytes + 2 * kPart, DType::f32, {s.k, s.n}},
                            .dbias = {dbias, DType::f32, {s.n}}};
    for (const bool accumulate : {false, true}) {
      op.accumulate = accumulate;
      cuda::run(bench.context(), op, nullptr);
      REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
      seen.emplace_back(dbias, dbias + s.n);
    }
    CHECK(seen[seen.size() - 2] == seen[0]);
    CHECK(seen.back() == seen[1]);
    CHECK(seen.back() != seen[0]);
  }
  CHECK(emulation::fault() == "");
  CHECK(bench.named("column sums: cublasLt") == 1);
  CHECK(cudaFree(memory) == cudaSuccess);
}

}  // namespace ds::conformance
