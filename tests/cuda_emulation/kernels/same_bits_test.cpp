// Tests that the CUDA backend has exactly the CPU's bits for dropout, casts, normal numbers, sums
// of squares and optimizer updates, at aligned and unaligned addresses.
#include <bit>
#include <limits>

#include "conformance/harness.h"
#include "cuda_bench.h"

namespace ds::conformance {
namespace {

Options cpu() { return {.threads = 2}; }

constexpr CudaOptions kWays[] = {{.multiprocessors = 3, .seed = 1, .shift = 0},
                                 {.multiprocessors = 1, .seed = 7, .shift = 1},
                                 {.multiprocessors = 8, .seed = 99, .shift = 4}};

/// Returns random bits that include denormals, infinities and NaN.
Buffer random_bits(std::int64_t n, std::uint64_t seed) {
  Buffer buffer(DType::f32, {n});
  auto* bits = reinterpret_cast<std::uint32_t*>(buffer.data());
  std::uint64_t state = seed;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    bits[i] = static_cast<std::uint32_t>(state >> 32);
    if (i % 5 == 0) bits[i] &= 0x807FFFFFU;  // a denormal
    if (i % 1001 == 0) bits[i] = i % 2 == 0 ? 0x7F800000U : 0x7FC00001U;
  }
  return buffer;
}

/// Returns the bits with NaN replaced: operations may return any of its many bit patterns.
std::string bits_without_nan(Buffer& buffer) {
  const DType type = buffer.tensor().dtype;
  std::string bits = buffer.bits();
  const auto n = static_cast<std::size_t>(buffer.tensor().elements());
  for (std::size_t i = 0; i < n; ++i) {
    if (type == DType::f32) {
      float x = 0;
      std::memcpy(&x, bits.data() + 4 * i, 4);
      if (std::isnan(x)) std::memset(bits.data() + 4 * i, 0x77, 4);
    } else if (type != DType::i16) {
      std::uint16_t half = 0;
      std::memcpy(&half, bits.data() + 2 * i, 2);
      const float x = type == DType::bf16 ? float_from_bf16(half) : float_from_f16(half);
      if (std::isnan(x)) std::memset(bits.data() + 2 * i, 0x77, 2);
    }
  }
  return bits;
}

}  // namespace

TEST_CASE("casts: every kind of number") {
  const std::int64_t n = 20011;
  Bench bench(cpu(), {});
  for (const CudaOptions& way : kWays) {
    CudaBench cuda(Kernels::Extents{}, way);
    for (const DType type : {DType::bf16, DType::f16}) {
      Buffer in = random_bits(n, 3), want(type, {n}), got(type, {n});
      bench.run(Cast{.in = in.view(), .out = want.tensor()});
      cuda.run(Cast{.in = in.view(), .out = got.tensor()});
      CHECK(bits_without_nan(got) == bits_without_nan(want));
      Buffer back(DType::f32, {n}), again(DType::f32, {n});
      bench.run(Cast{.in = want.view(), .out = back.tensor()});
      cuda.run(Cast{.in = want.view(), .out = again.tensor()});
      CHECK(bits_without_nan(again) == bits_without_nan(back));
      cuda.run(Cast{.in = in.view(), .out = again.tensor()});  // f32 unchanged
      CHECK(again.bits() == in.bits());
    }
  }
}

TEST_CASE("dropout: the CPU's elements and values; in place too") {
  const std::vector<std::int64_t> samples{0x500000003, 0, 17};
  Bench bench(cpu(), {});
  for (const CudaOptions& way : kWays) {
    CudaBench cuda(Kernels::Extents{}, way);
    for (const DType act : kActTypes) {
      for (const std::int64_t each : {1, 63, 64, 65, 128, 2312, 8200}) {
        CAPTURE(each);
        CAPTURE(name_of(act));
        Buffer in = random_buffer(act, {3 * each}, 1, 5), want(act, {3 * each}),
               got(act, {3 * each});
        const DropoutDraw draw{.samples = {samples.data(), DType::i64, {3}},
                               .rate = 0.3F,
                               .seed = 0x123456789ABCDEF0U,
                               .key = 0xFEDCBA9876543210U,
                               .step = 0x300000007U};
        bench.run(Dropout{.in = in.view(), .draw = draw, .out = want.tensor()});
        cuda.run(Dropout{.in = in.view(), .draw = draw, .out = got.tensor()});
        CHECK(got.bits() == want.bits());
        cuda.run(Dropout{.in = in.view(), .draw = draw, .out = in.tensor()});
        CHECK(in.bits() == want.bits());
      }
    }
  }
}

TEST_CASE("normal numbers: any part of a tensor") {
  Bench bench(cpu(), {});
  for (const CudaOptions& way : kWays) {
    CudaBench cuda(Kernels::Extents{}, way);
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1}, std::int64_t{62},
                                     std::int64_t{12345}, (std::int64_t{1} << 34) + 3}) {
      Buffer want(DType::f32, {5003}), got(DType::f32, {5003});
      FillNormal op{.out = want.tensor(),
                    .mean = 0.25F,
                    .standard_deviation = 0.02F,
                    .seed = 0x123456789ABCDEF0U,
                    .key = 0x4200000001U,
                    .first_element = first};
      bench.run(op);
      op.out = got.tensor();
      cuda.run(op);
      CHECK(got.bits() == want.bits());
    }
  }
}

TEST_CASE("sums of squares: every leaf's bits, the tree's, and non-finite elements") {
  Bench bench(cpu(), {});
  for (const CudaOptions& way : kWays) {
    CudaBench cuda(Kernels::Extents{}, way);
    for (const std::int64_t n :
         {1, 15, 1023, 1024, 1025, 5 * 1024, 64 * 1024, 64 * 1024 + 1, 200 * 1024 + 77}) {
      CAPTURE(n);
      Buffer in = random_buffer(DType::f32, {n}, 1, 7);
      auto* raw = reinterpret_cast<float*>(in.data());
      for (const bool finite : {true, false}) {
        if (!finite) {
          raw[n / 2] = std::numeric_limits<float>::quiet_NaN();
          raw[n - 1] = -std::numeric_limits<float>::infinity();
        }
        const auto leaves = static_cast<std::size_t>((n + 1023) / 1024);
        const Shape shape{static_cast<std::int64_t>(leaves)};
        std::vector<double> want(leaves), got(leaves);
        std::vector<std::int64_t> want_bad(leaves), got_bad(leaves);
        bench.run(LeafSquares{.in = in.view(),
                              .sums = {want.data(), DType::f64, shape},
                              .non_finite = {want_bad.data(), DType::i64, shape}});
        cuda.run(LeafSquares{.in = in.view(),
                             .sums = {got.data(), DType::f64, shape},
                             .non_finite = {got_bad.data(), DType::i64, shape}});
        CHECK(got_bad == want_bad);
        for (std::size_t i = 0; i < leaves; ++i) CHECK((got[i] == want[i] || want_bad[i] > 0));
      }
    }
  }
}

namespace {

using Update = OptimizerUpdate;

/// Gradients, moments and masters with every kind of number among ordinary ones.
struct State {
  std::int64_t n;
  Buffer grad, master, m, v, weights, low;
  State(std::int64_t elements, DType act)
      : n(elements),
        grad(random_buffer(DType::f32, {n}, 1)),
        master(random_buffer(DType::f32, {n}, 2)),
        m(random_buffer(DType::f32, {n}, 3, 0.1)),
        v(DType::f32, {n}),
        weights(act, {n}),
        low(DType::i16, {n}) {
    Buffer odd = random_bits(n, 11);
    const auto words = [](Buffer& b) { return reinterpret_cast<std::uint32_t*>(b.data()); };
    for (std::int64_t i = 0; i < n; ++i) {
      words(v)[i] = words(grad)[i] & 0x7FFFFFFFU;
      if (i % 3 == 0) words(grad)[i] = words(odd)[i];
      if (i % 7 == 0) words(m)[i] = words(odd)[n - 1 - i];
      if (i % 11 == 0) words(v)[i] = words(odd)[i] & 0x7FFFFFFFU;
      if (i % 13 == 0) words(master)[i] = words(odd)[i];
      const float x = std::bit_cast<float>(words(master)[i]);
      reinterpret_cast<std::uint16_t*>(low.data())[i] =
          static_cast<std::uint16_t>(words(master)[i]);
      if (act == DType::bf16) {
        reinterpret_cast<std::uint16_t*>(weights.data())[i] = bf16_from_float(x);
      }
    }
  }
  Update op(OptimizerType type, bool nesterov, bool split, bool with_weights) {
    Update op{.grad = grad.view(),
              .m = m.tensor(),
              .type = type,
              .numbers = {.grad_scale = 0.5F,
                          .lr = 1e-2F,
                          .weight_decay = 0.1F,
                          .bias_correction1 = 0.271F,
                          .bias_correction2 = 0.003F,
                          .momentum = 0.8F,
                          .nesterov = nesterov}};
    if (facts_of(type).two_moments) op.v = v.tensor();
    if (split) op.low = low.tensor();
    if (!split) op.master = master.tensor();
    if (with_weights) op.weights = weights.tensor();
    return op;
  }
};

/// Returns cuts 1, 2 and 3 leaves apart in turn: with 24 cuts or more, more than one launch takes.
std::vector<std::int64_t> many_cuts(std::int64_t n) {
  std::vector<std::int64_t> cuts;
  for (std::int64_t at = 0; at < n; at += 1024 * (1 + std::ssize(cuts) % 3)) cuts.push_back(at);
  return cuts;
}

void check_update(const CudaOptions& way, std::int64_t n, OptimizerType type, bool nesterov,
                  DType act, bool split, bool with_weights) {
  CAPTURE(static_cast<int>(type));
  CAPTURE(name_of(act));
  CAPTURE(split);
  Bench bench(cpu(), {});
  CudaBench cuda(Kernels::Extents{}, way);
  State want(n, act), got(n, act);
  const std::vector<std::int64_t> cuts = many_cuts(n);
  Update on_host = want.op(type, nesterov, split, with_weights);
  Update on_device = got.op(type, nesterov, split, with_weights);
  if (act != DType::f16) on_host.decay_cuts = on_device.decay_cuts = cuts;
  bench.run(on_host);
  cuda.run(on_device);
  CHECK(bits_without_nan(got.m) == bits_without_nan(want.m));
  CHECK(bits_without_nan(got.v) == bits_without_nan(want.v));
  CHECK(bits_without_nan(got.master) == bits_without_nan(want.master));
  if (with_weights) CHECK(bits_without_nan(got.weights) == bits_without_nan(want.weights));
  if (!split) return;
  std::string lows[2] = {got.low.bits(), want.low.bits()};
  const auto* weights = reinterpret_cast<const std::uint16_t*>(want.weights.data());
  for (std::string& low : lows) {  // the lower half of a NaN is undefined too
    for (std::size_t i = 0; i < low.size() / 2; ++i) {
      if (std::isnan(float_from_bf16(weights[i]))) low[2 * i] = low[2 * i + 1] = 0;
    }
  }
  CHECK(lows[0] == lows[1]);
}

}  // namespace

TEST_CASE("updates: every optimizer, master, type of weights, with and without decay") {
  for (const CudaOptions& way : kWays) {
    const std::int64_t n = way.shift == 0 ? 100003 : 5003;
    using Type = OptimizerType;
    for (const Type type : {Type::adamw, Type::adam_l2, Type::sgd, Type::lion}) {
      check_update(way, n, type, false, DType::bf16, true, true);
      for (const DType act : kActTypes) check_update(way, 5003, type, true, act, false, true);
      check_update(way, n, type, false, DType::f32, false, false);
    }
  }
}

}  // namespace ds::conformance
