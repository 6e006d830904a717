// Tests that optimizer updates have the bits of the shared scalar arithmetic for every optimizer,
// type of weights and cut of the parameters, and that a master in two halves equals a whole one.
#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "conformance/harness.h"
#include "engine/kernels/update_rule.h"

namespace ds::conformance {
namespace {

using Type = OptimizerType;

struct Rule {
  const char* name;
  Type type;
  bool nesterov = false;
};
constexpr Rule kRules[] = {{"adamw", Type::adamw},
                           {"adam_l2", Type::adam_l2},
                           {"sgd", Type::sgd},
                           {"sgd nesterov", Type::sgd, true},
                           {"lion", Type::lion}};

bool has_two_moments(Type type) { return facts_of(type).two_moments; }

OptimizerUpdate numbers_of(const Rule& rule) {
  return {.grad = {},
          .m = {},
          .type = rule.type,
          .numbers = {.grad_scale = 0.5F,
                      .lr = 1e-2F,
                      .weight_decay = 0.1F,
                      .bias_correction1 = 0.271F,
                      .bias_correction2 = 0.003F,
                      .momentum = 0.8F,
                      .nesterov = rule.nesterov}};
}

/// Returns cuts 1, 2 and 3 leaves apart in turn, from the first element on: more than one CUDA
/// launch takes.
std::vector<std::int64_t> many_cuts(std::int64_t n) {
  std::vector<std::int64_t> cuts;
  for (std::int64_t at = 0; at < n; at += 1024 * (1 + std::ssize(cuts) % 3)) cuts.push_back(at);
  return cuts;
}

/// Updates one element by the scalar arithmetic.
void scalar_update(const OptimizerUpdate& u, float g, float& w, float& m, float& v) {
  std::visit([&](const auto& row) { row.template update<ScalarMath>(g, w, m, v); }, rule_of(u));
}

/// The state of some parameters; weights and low halves as the kind of master needs them.
struct State {
  std::int64_t n;
  Buffer grad, master, m, v, weights, low;

  State(std::int64_t elements, DType act)
      : n(elements),
        grad(random_buffer(DType::f32, {n}, 1)),
        master(random_buffer(DType::f32, {n}, 2)),
        m(random_buffer(DType::f32, {n}, 3, 0.1)),
        v(random_buffer(DType::f32, {n}, 4)),
        weights(act, {n}),
        low(DType::i16, {n}) {
    Values squares = v.values();
    for (double& x : squares) x *= x;
    if (n > 5) squares[5] = 1e-42;  // denormal
    v = Buffer::of(DType::f32, {n}, squares);
    if (n > 7) floats(grad)[7] = 0;
    if (n > 9) floats(grad)[9] = std::numeric_limits<float>::quiet_NaN();
    split();
  }
  static float* floats(Buffer& buffer) { return reinterpret_cast<float*>(buffer.data()); }

  /// Makes the two halves from the master.
  void split() {
    auto* low_halves = reinterpret_cast<std::uint16_t*>(low.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(floats(master)[i]);
      low_halves[i] = static_cast<std::uint16_t>(bits);
      if (weights.tensor().dtype != DType::bf16) continue;
      reinterpret_cast<std::uint16_t*>(weights.data())[i] = bf16_from_float(floats(master)[i]);
    }
  }
  /// Returns the master's bits from its halves.
  std::string joined() {
    std::string bits(static_cast<std::size_t>(n) * 4, '\0');
    const auto* high = reinterpret_cast<const std::uint16_t*>(weights.data());
    const auto* less = reinterpret_cast<const std::int16_t*>(low.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint32_t sum =
          (std::uint32_t{high[i]} << 16) + static_cast<std::uint32_t>(std::int32_t{less[i]});
      std::memcpy(bits.data() + 4 * i, &sum, 4);
    }
    return bits;
  }

  /// Returns the op for elements [first, first + count); the master is whole unless `is_split`.
  OptimizerUpdate part(const Rule& rule, std::int64_t first, std::int64_t count, bool is_split) {
    OptimizerUpdate op = numbers_of(rule);
    const auto cut = [&](Buffer& buffer) {
      Tensor t = buffer.tensor();
      t.data = buffer.data() + first * size_of(t.dtype);
      t.shape = {count};
      return t;
    };
    op.grad = cut(grad);
    op.m = cut(m);
    if (has_two_moments(rule.type)) op.v = cut(v);
    if (is_split) op.low = cut(low);
    if (!is_split) op.master = cut(master);
    op.weights = cut(weights);
    return op;
  }
};

}  // namespace

TEST_CASE(
    "every optimizer gives exactly the bits of the scalar arithmetic, with and without decay") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const Rule& rule : kRules) {
      CAPTURE(rule.name);
      const std::int64_t n = 70001;
      const std::vector<std::int64_t> cuts = many_cuts(n);
      Bench bench(subject.options, {});
      State state(n, act);
      State want(n, act);
      OptimizerUpdate op = state.part(rule, 0, n, false);
      if (act != DType::f16) op.decay_cuts = cuts;
      bench.run(op);
      OptimizerUpdate plain = op;
      plain.numbers.weight_decay = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = [&](Buffer& buffer) -> float& { return State::floats(buffer)[i]; };
        const auto passed = std::ranges::upper_bound(op.decay_cuts, i) - op.decay_cuts.begin();
        scalar_update(passed % 2 == 0 ? op : plain, at(want.grad), at(want.master), at(want.m),
                      at(want.v));
      }
      CHECK(std::isnan(State::floats(state.m)[9]));
      // NaN has many bit patterns, and operations may return any of them.
      for (Buffer* b : {&state.master, &state.m, &state.v, &want.master, &want.m, &want.v}) {
        float& x = State::floats(*b)[9];
        if (std::isnan(x)) x = 0;
      }
      CHECK((state.master.bits() == want.master.bits()));
      CHECK((state.m.bits() == want.m.bits()));
      CHECK((state.v.bits() == want.v.bits()));
      Values got = state.weights.values();
      Values cast = Buffer::of(act, {n}, want.master.values()).values();
      got[9] = cast[9] = 0;
      CHECK(got == cast);
    }
  });
}

TEST_CASE("an update in pieces of leaves equals the whole update, for any cut") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const Rule& rule : kRules) {
      CAPTURE(rule.name);
      const std::int64_t n = 40 * 1024;
      Bench bench(subject.options, {});
      State whole(n, act), pieces(n, act);
      bench.run(whole.part(rule, 0, n, false));
      for (std::int64_t first = 0, size = 1024; first < n; first += size, size += 1024) {
        bench.run(pieces.part(rule, first, std::min(size, n - first), false));
      }
      CHECK((pieces.master.bits() == whole.master.bits()));
      CHECK((pieces.m.bits() == whole.m.bits()));
      CHECK((pieces.weights.bits() == whole.weights.bits()));
    }
  });
}

TEST_CASE("a master in two halves has the bits of a whole one, step after step") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.name);
    for (const Rule& rule : kRules) {
      CAPTURE(rule.name);
      const std::int64_t n = 3333;
      const std::vector<std::int64_t> cuts = many_cuts(n);
      Bench bench(subject.options, {});
      State whole(n, DType::bf16), halves(n, DType::bf16);
      for (State* state : {&whole, &halves}) {
        // Ties of the rounding in both signs, the edge of infinity, denormals and zeros.
        auto* bits = reinterpret_cast<std::uint32_t*>(state->master.data());
        std::uint32_t at = 20;
        for (const std::uint32_t special :
             {0x3F808000U, 0xBF808000U, 0x3F807FFFU, 0x7F7FFFFFU, 0xFF7FFFFFU, 0x7F7F8000U,
              0x00008000U, 0x80000001U, 0x00000000U, 0x80000000U, 0x007FFFFFU}) {
          bits[at++] = special;
        }
        state->split();
      }
      CHECK((halves.joined() == whole.master.bits()));
      for (int step = 0; step < 5; ++step) {
        for (const bool is_split : {false, true}) {
          OptimizerUpdate op = (is_split ? halves : whole).part(rule, 0, n, is_split);
          op.decay_cuts = cuts;
          bench.run(op);
        }
        CHECK((halves.weights.bits() == whole.weights.bits()));
        CHECK((halves.m.bits() == whole.m.bits()));
        std::string joined = halves.joined(), master = whole.master.bits();
        CHECK(std::isnan(State::floats(whole.m)[9]));
        for (std::string* s : {&joined, &master}) s->replace(36, 4, 4, '\0');  // element 9: NaN
        CHECK((joined == master));
      }
    }
  }
}

}  // namespace ds::conformance
