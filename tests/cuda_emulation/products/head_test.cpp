// Tests every variant of the LM head: rows staged in shared memory or read twice, large logits,
// rows that do not count, products without the library.
#include "products_bench.h"

namespace ds::conformance {
namespace {

struct Sizes {
  std::int64_t rows, width, vocab, valid, chunk;
};

Kernels::Extents extents_of(const Sizes& s, DType act) {
  return {.micro = 1,
          .seq_len = s.rows,
          .width = s.width,
          .vocab = s.vocab,
          .chunk_rows = s.chunk,
          .head_bias = true,
          .head_scaled = true,
          .head_sparse = true,
          .act = act};
}

struct HeadRun {
  HeadRun(const Sizes& s, DType act, double scale, std::vector<std::int32_t> wanted)
      : in(random_buffer(act, {s.rows, s.width}, 1, scale)),
        weight(random_buffer(act, {s.vocab, s.width}, 2)),
        din(act, {s.rows, s.width}),
        dweight(DType::f32, {s.vocab, s.width}),
        bias(random_buffer(act, {s.vocab}, 3)),
        dbias(DType::f32, {s.vocab}),
        targets(std::move(wanted)),
        sizes(s) {}

  /// A head with a bias and a scale of its input.
  HeadLossBackward full_op() {
    HeadLossBackward made = op();
    made.forward.bias = bias.view();
    made.forward.scale = 0.375F;
    made.dbias = dbias.tensor();
    return made;
  }
  HeadLossBackward op() {
    return {.forward = {.in = in.view(),
                        .weight = weight.view(),
                        .targets = {targets.data(), DType::i32, {sizes.rows}},
                        .loss = {&loss, DType::f64, {1}},
                        .count = {&count, DType::i64, {1}},
                        .valid_vocab = sizes.valid,
                        .chunk_rows = sizes.chunk},
            .din = din.tensor(),
            .dweight = dweight.tensor(),
            .loss_scale = 3};
  }
  void check_against_reference(DType act, bool full = false) {
    const reference::HeadResult want = reference::head_loss(
        in.values(), weight.values(), targets, static_cast<std::size_t>(sizes.width),
        static_cast<std::size_t>(sizes.valid), 3, full ? bias.values() : Values{},
        full ? 0.375 : 1.0);
    CHECK(count == want.count);
    CHECK(std::abs(loss - want.loss) <= tolerance(act) * std::abs(want.loss));
    check_close("din", din, want.din, act);
    check_close("dweight", dweight, want.dweight, act);
    if (full) check_close("dbias", dbias, want.dbias, act);
  }

  Buffer in, weight, din, dweight, bias, dbias;
  std::vector<std::int32_t> targets;
  Sizes sizes;
  double loss = -1;
  std::int64_t count = -1;
};

std::vector<std::int32_t> some_targets(const Sizes& s) {
  std::vector<std::int32_t> targets;
  for (std::int64_t i = 0; i < s.rows; ++i) {
    targets.push_back(i % 7 == 3 ? -100 : static_cast<std::int32_t>(i * 131 % s.valid));
  }
  return targets;
}

}  // namespace

TEST_CASE(
    "head: the same bits whether rows stay in shared memory, in part or whole, or are read twice") {
  for (const DType act : kActTypes) {
    for (const Sizes& s : {Sizes{37, 16, 3000, 2991, 16}, {5, 8, 9, 9, 5}, {6, 8, 70, 41, 4}}) {
      CAPTURE(s.vocab);
      std::string first;
      for (const int shared : {0, 6 << 10, 227 << 10}) {
        ProductsBench bench(extents_of(s, act), {.seed = static_cast<std::uint64_t>(shared) + 1});
        bench.context().facts.max_shared_bytes = shared;
        HeadRun run(s, act, 1, some_targets(s));
        bench.run(run.op());
        run.check_against_reference(act);
        const std::string bits = run.din.bits() + run.dweight.bits() +
                                 std::string(reinterpret_cast<const char*>(&run.loss), 8);
        if (first.empty()) first = bits;
        CHECK((bits == first));
      }
    }
  }
}

TEST_CASE("head: with a bias and a scale; with and without the library's epilogue") {
  for (const Sizes& s : {Sizes{37, 16, 3008, 2991, 16}, {5, 8, 9, 9, 5}, {600, 8, 72, 41, 300}}) {
    CAPTURE(s.vocab);
    for (const char* const name : {"", "none"}) {
      const Behaviour behaviour(name);
      for (const DType act : kActTypes) {
        ProductsBench bench(extents_of(s, act));
        HeadRun run(s, act, 1, some_targets(s));
        bench.run(run.full_op());
        run.check_against_reference(act, true);
        Buffer logits(DType::f32, {s.rows, s.vocab});
        bench.run(Logits{.in = run.in.view(),
                         .weight = run.weight.view(),
                         .bias = run.bias.view(),
                         .out = logits.tensor(),
                         .scale = 0.375F});
        Bench cpu({.threads = 2}, extents_of(s, act));
        Buffer want(DType::f32, {s.rows, s.vocab});
        cpu.run(Logits{.in = run.in.view(),
                       .weight = run.weight.view(),
                       .bias = run.bias.view(),
                       .out = want.tensor(),
                       .scale = 0.375F});
        check_close("logits", logits, want.values(), DType::f32);
      }
    }
  }
}

TEST_CASE("head: sparse, with products of the rows that count alone") {
  for (const Sizes& s : {Sizes{37, 16, 3008, 2991, 16},
                         {5, 8, 9, 9, 5},
                         {600, 8, 72, 41, 300},
                         {1100, 8, 70, 64, 1100}}) {
    for (const std::int64_t each : {1, 2, 7, 2000}) {
      CAPTURE(s.rows);
      CAPTURE(each);
      std::vector<std::int32_t> targets;
      for (std::int64_t i = 0; i < s.rows; ++i) {
        targets.push_back(i % each == each - 1 ? static_cast<std::int32_t>(i * 131 % s.valid)
                                               : -100);
      }
      for (const DType act : kActTypes) {
        ProductsBench bench(extents_of(s, act));
        HeadRun run(s, act, 1, targets);
        HeadLossBackward op = run.full_op();
        op.forward.sparse = true;
        bench.run(op);
        run.check_against_reference(act, true);
        const double loss = run.loss;
        bench.run(op.forward);
        CHECK(run.loss == loss);
        // In place, and without a scale.
        HeadRun plain(s, act, 1, targets);
        HeadLossBackward other = plain.op();
        other.forward.sparse = true;
        other.din = plain.in.tensor();
        Buffer in = Buffer::of(act, {s.rows, s.width}, plain.in.values());
        bench.run(other);
        const reference::HeadResult want = reference::head_loss(
            in.values(), plain.weight.values(), targets, static_cast<std::size_t>(s.width),
            static_cast<std::size_t>(s.valid), 3);
        check_close("din in place", plain.in, want.din, act);
        check_close("dweight", plain.dweight, want.dweight, act);
      }
    }
  }
}

TEST_CASE("head: logits of any size, and products without the library") {
  const Sizes s{24, 32, 500, 499, 11};
  for (const char* const name : {"", "none"}) {
    const Behaviour behaviour(name);
    for (const DType act : kActTypes) {
      ProductsBench bench(extents_of(s, act));
      HeadRun run(s, act, 1, some_targets(s));
      bench.run(run.op());
      run.check_against_reference(act);
      // Large logits with one dominant value must not overflow. The effect of their rounding on
      // probabilities near 1/2 is not covered by tolerances here.
      HeadRun large(s, act, 300, some_targets(s));
      bench.run(large.op());
      CHECK(std::isfinite(large.loss));
      for (const double x : large.din.values()) CHECK(std::isfinite(x));
      for (const double x : large.dweight.values()) CHECK(std::isfinite(x));
    }
  }
}

TEST_CASE("head: no row counts") {
  const Sizes s{9, 16, 64, 64, 4};
  for (const DType act : kActTypes) {
    ProductsBench bench(extents_of(s, act));
    HeadRun run(s, act, 1, std::vector<std::int32_t>(9, -1));
    bench.run(run.op());
    CHECK(run.loss == 0.0);
    CHECK(run.count == 0);
    for (const double x : run.din.values()) CHECK(x == 0.0);
    for (const double x : run.dweight.values()) CHECK(x == 0.0);
  }
}

TEST_CASE("head: rows that need all shared memory available without opt-in") {
  const Sizes s{2, 8, 12280, 12280, 2};
  ProductsBench bench(extents_of(s, DType::f32));
  bench.context().facts.max_shared_bytes = 227 << 10;
  HeadRun run(s, DType::f32, 1, some_targets(s));
  bench.run(run.op());
  run.check_against_reference(DType::f32);
}

TEST_CASE("head: large logits against exact values, where f32 holds them") {
  const Sizes s{30, 8, 200, 200, 30};
  ProductsBench bench(extents_of(s, DType::f32));
  HeadRun run(s, DType::f32, 20, some_targets(s));
  bench.run(run.op());
  const reference::HeadResult want =
      reference::head_loss(run.in.values(), run.weight.values(), run.targets, 8, 200, 3);
  CHECK(std::abs(run.loss - want.loss) <= 1e-5 * std::abs(want.loss));
}

}  // namespace ds::conformance
