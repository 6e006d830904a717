// Tests of the oracle itself: every gradient of the reference against central differences of its
// forward pass, in double.
#include <doctest/doctest.h>

#include <functional>

#include "conformance/harness.h"

namespace ds::conformance {
namespace {

using reference::Index;

/// With step h, a central difference is off by h^2 f'''/6 + eps |f| / h: about 1e-9 of |f| at h =
/// 1e-5 for the smooth functions here.
constexpr double kStep = 1e-5;
constexpr double kDifferenceTolerance = 1e-7;

double weighted_sum(const Values& weights, const Values& values) {
  return reference::dot(weights.data(), values.data(), values.size());
}

/// Returns the gradient of `f` at `x` by central differences.
Values differences(const std::function<double(const Values&)>& f, Values x) {
  Values gradient(x.size());
  for (Index i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double above = f(x);
    x[i] = at - kStep;
    gradient[i] = (above - f(x)) / (2 * kStep);
    x[i] = at;
  }
  return gradient;
}

void check_gradient(const char* what, const Values& gradient,
                    const std::function<double(const Values&)>& f, const Values& x) {
  CAPTURE(what);
  CHECK(relative_error(gradient, differences(f, x)) <= kDifferenceTolerance);
}

}  // namespace

TEST_CASE("reference layer norm: din, dweight, dbias") {
  const Values in = random_values(4 * 7, 1, 3), weight = random_values(7, 2),
               bias = random_values(7, 3);
  const Values dout = random_values(4 * 7, 4);
  const auto loss = [&](const Values& x, const Values& w, const Values& b) {
    return weighted_sum(dout, reference::layer_norm(x, w, b, 1e-5).out);
  };
  const reference::NormGradient g = reference::layer_norm_backward(dout, in, weight, 1e-5);
  check_gradient(
      "din", g.din, [&](const Values& x) { return loss(x, weight, bias); }, in);
  check_gradient(
      "dweight", g.dweight, [&](const Values& w) { return loss(in, w, bias); }, weight);
  check_gradient(
      "dbias", g.dbias, [&](const Values& b) { return loss(in, weight, b); }, bias);
}

TEST_CASE("reference linear: din, dweight, dbias") {
  const Index rows = 5, k = 4, n = 3;
  const Values in = random_values(rows * k, 1), weight = random_values(k * n, 2),
               bias = random_values(n, 3);
  const Values dout = random_values(rows * n, 4);
  const auto loss = [&](const Values& x, const Values& w, const Values& b) {
    return weighted_sum(dout, reference::linear(x, w, b, k));
  };
  check_gradient(
      "din", reference::product(dout, reference::transposed(weight, k, n), rows, n, k),
      [&](const Values& x) { return loss(x, weight, bias); }, in);
  check_gradient(
      "dweight", reference::product(reference::transposed(in, rows, k), dout, k, rows, n),
      [&](const Values& w) { return loss(in, w, bias); }, weight);
  check_gradient(
      "dbias", reference::column_sums(dout, n),
      [&](const Values& b) { return loss(in, weight, b); }, bias);
}

TEST_CASE("reference GELU: slope") {
  const Values x = random_values(50, 1, 5);
  Values slope = x;
  for (double& value : slope) value = reference::gelu_slope(value);
  check_gradient(
      "slope", slope,
      [](const Values& v) {
        double sum = 0;
        for (const double value : v) sum += reference::gelu(value);
        return sum;
      },
      x);
}

TEST_CASE("reference attention: dq, dk, dv") {
  const reference::AttentionShape s{2, 2, 6, 3};
  const Values qkv = random_values(3 * 2 * 2 * 6 * 3, 1, 1.5),
               dout = random_values(2 * 6 * 2 * 3, 2);
  Values factors(s.batch * s.heads * s.time * s.time, 1.25);  // as a dropout with rate 1/5
  for (Index i = 0; i < factors.size(); i += 5) factors[i] = 0;
  const Values by_difference = differences(
      [&](const Values& x) { return weighted_sum(dout, reference::attention(x, s, factors).out); },
      qkv);
  const Values gradient = reference::attention_backward(qkv, dout, s, factors);
  CHECK(relative_error(reference::heads_of_rows(gradient, s), by_difference) <=
        kDifferenceTolerance);
}

TEST_CASE("reference attention with groups, masks, other keys, a bias and a scale: all gradients") {
  // Two sequences: documents of 2 and 3 tokens; one with padding on both sides.
  const std::vector<std::int32_t> own{0, 0, 1, 1, 1, -1, 4, 4, 4, -1},
      others{0, 1, 1, 1, -1, 2, 2, -1, 4, 4, 4, 4, 4, -1};
  for (const Index keys : {0, 7}) {
    for (const bool causal : {true, false}) {
      for (const std::int64_t window : {0, 2}) {
        CAPTURE(causal);
        const reference::AttentionShape s{2, 4, 5, 3, 2, keys};
        const reference::AttentionMask mask{
            .causal = causal,
            .window = window,
            .ranges =
                reference::key_ranges(own, keys == 0 ? std::vector<std::int32_t>{} : others, 2),
            .bias = random_values(4 * s.distances(), 3),
            .scale = 0.7};
        const Values qkv = random_values(s.elements(), 1, 1.5),
                     dout = random_values(2 * 5 * 4 * 3, 2);
        const auto loss = [&](const Values& x, const Values& bias) {
          reference::AttentionMask with = mask;
          with.bias = bias;
          return weighted_sum(dout, reference::attention(x, s, {}, with).out);
        };
        Values dbias;
        const Values gradient = reference::attention_backward(qkv, dout, s, {}, mask, &dbias);
        check_gradient(
            "dqkv", reference::heads_of_rows(gradient, s),
            [&](const Values& x) { return loss(x, mask.bias); }, qkv);
        check_gradient(
            "dbias", dbias, [&](const Values& x) { return loss(qkv, x); }, mask.bias);
      }
    }
  }
}

TEST_CASE("reference attention: a query without keys gives zeros") {
  const reference::AttentionShape s{2, 1, 3, 2};
  const reference::AttentionMask mask{.ranges = {0, 0, 0, 0, 0, 0, 0, 3, 0, 3, 0, 3}};
  const Values qkv = random_values(2 * 3 * s.row(), 1);
  const Values out = reference::attention(qkv, s, {}, mask).out;
  for (Index i = 0; i < 6; ++i) CHECK(out[i] == 0);
  for (Index i = 6; i < 12; ++i) CHECK(out[i] != 0);
}

TEST_CASE("reference RMS norm: din, dweight") {
  const Values in = random_values(4 * 7, 1, 3), weight = random_values(7, 2),
               dout = random_values(4 * 7, 4);
  const auto loss = [&](const Values& x, const Values& w) {
    return weighted_sum(dout, reference::rms_norm(x, w, 1e-5).out);
  };
  const reference::RmsNormGradient g = reference::rms_norm_backward(dout, in, weight, 1e-5);
  check_gradient(
      "din", g.din, [&](const Values& x) { return loss(x, weight); }, in);
  check_gradient(
      "dweight", g.dweight, [&](const Values& w) { return loss(in, w); }, weight);
}

TEST_CASE("reference SwiGLU: din") {
  const Values in = random_values(3 * 2 * 5, 1, 3), dout = random_values(3 * 5, 2);
  check_gradient(
      "din", reference::swiglu_backward(in, dout, 5),
      [&](const Values& x) { return weighted_sum(dout, reference::swiglu(x, 5)); }, in);
}

TEST_CASE("reference rotary: the inverse rotates back and is the gradient, in both layouts") {
  const reference::AttentionShape s{2, 4, 5, 6, 2};
  const Values in = random_values(2 * 5 * s.row(), 1), dout = random_values(2 * 5 * s.row(), 2);
  for (const bool rows : {false, true}) {
    const Values turned = reference::rotary(in, s, 100, false, rows);
    CHECK(relative_error(turned, in) > 0.1);
    CHECK(relative_error(reference::rotary(turned, s, 100, true, rows), in) <= 1e-14);
    check_gradient(
        "din", reference::rotary(dout, s, 100, true, rows),
        [&](const Values& x) {
          return weighted_sum(dout, reference::rotary(x, s, 100, false, rows));
        },
        in);
  }
  const Values by_rows = reference::rotary(reference::rows_of_heads(in, s), s, 100, false, true);
  CHECK(reference::heads_of_rows(by_rows, s) == reference::rotary(in, s, 100, false, false));
}

TEST_CASE("reference relative bias: buckets as in T5, dtable") {
  // Values of transformers' own function with 32 buckets and a maximum distance of 128.
  const reference::RelativeBuckets both{32, 128, true}, past{32, 128, false};
  CHECK(reference::relative_bucket(0, both) == 0);
  CHECK(reference::relative_bucket(-7, both) == 7);
  CHECK(reference::relative_bucket(-16, both) == 10);
  CHECK(reference::relative_bucket(1, both) == 17);
  CHECK(reference::relative_bucket(500, both) == 31);
  CHECK(reference::relative_bucket(5, past) == 0);
  CHECK(reference::relative_bucket(-15, past) == 15);
  CHECK(reference::relative_bucket(-32, past) == 21);
  CHECK(reference::relative_bucket(-500, past) == 31);
  const Index heads = 3, time = 40;
  const Values table = random_values(32 * heads, 1), dout = random_values(heads * 79, 2);
  for (const reference::RelativeBuckets& b : {both, past}) {
    check_gradient(
        "dtable", reference::relative_bias_backward(dout, heads, time, time, b),
        [&](const Values& x) {
          return weighted_sum(dout, reference::relative_bias(x, heads, time, time, b));
        },
        table);
  }
}

TEST_CASE("reference linear without bias, and its input gradient behind a GELU") {
  const Index rows = 5, k = 4, n = 3;
  const Values pre = random_values(rows * k, 1, 2), weight = random_values(k * n, 2),
               dout = random_values(rows * n, 4);
  check_gradient(
      "dpre", reference::linear_backward_input(dout, weight, k, n, pre),
      [&](Values x) {
        for (double& value : x) value = reference::gelu(value);
        return weighted_sum(dout, reference::product(x, weight, rows, k, n));
      },
      pre);
}

TEST_CASE("reference head: din and dweight of the scaled loss") {
  const Index width = 4, vocab = 7, valid = 6;
  const std::vector<std::int32_t> targets{2, -1, 5, 0};
  const Values in = random_values(4 * width, 1), weight = random_values(vocab * width, 2);
  const reference::HeadResult g = reference::head_loss(in, weight, targets, width, valid, 3);
  check_gradient(
      "din", g.din,
      [&](const Values& x) {
        return 3 * reference::head_loss(x, weight, targets, width, valid, 1).loss;
      },
      in);
  check_gradient(
      "dweight", g.dweight,
      [&](const Values& w) {
        return 3 * reference::head_loss(in, w, targets, width, valid, 1).loss;
      },
      weight);
}

}  // namespace ds::conformance
