// The oracle itself: every gradient of the reference against central differences of its forward
// pass, in double.
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

/// Gradient of `f` at `x` by central differences.
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
  Values factors(s.batch * s.heads * s.time * s.time, 1.25);  // as a dropout of a fifth would make
  for (Index i = 0; i < factors.size(); i += 5) factors[i] = 0;
  const Values by_difference = differences(
      [&](const Values& x) { return weighted_sum(dout, reference::attention(x, s, factors).out); },
      qkv);
  const Values gradient = reference::attention_backward(qkv, dout, s, factors);
  Values moved(qkv.size());  // from (B*T, 3*H*D) to the order of qkv
  for (Index part = 0; part < 3; ++part) {
    for (Index b = 0; b < s.batch; ++b) {
      for (Index h = 0; h < s.heads; ++h) {
        for (Index t = 0; t < s.time; ++t) {
          for (Index d = 0; d < s.depth; ++d) {
            moved[s.qkv(part, b, h, t) + d] = gradient[s.dqkv(part, b, h, t) + d];
          }
        }
      }
    }
  }
  CHECK(relative_error(moved, by_difference) <= kDifferenceTolerance);
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
