// Naive versions of every op in double precision: the oracle of the conformance tests. No product
// code uses them; they follow the formulas, not the backends.
#pragma once

#include "reference/attention.h"
#include "reference/llama_ops.h"

namespace ds::reference {

struct Norm {
  Values sum, out, mean, rstd;
};

inline Norm layer_norm(const Values& in, const Values& weight, const Values& bias, double eps) {
  const Index width = weight.size(), rows = in.size() / width;
  Norm n{in, Values(in.size()), Values(rows), Values(rows)};
  for (Index r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (Index c = 0; c < width; ++c) mean += in[r * width + c];
    mean /= static_cast<double>(width);
    for (Index c = 0; c < width; ++c) variance += std::pow(in[r * width + c] - mean, 2);
    n.mean[r] = mean;
    n.rstd[r] = 1 / std::sqrt(variance / static_cast<double>(width) + eps);
    for (Index c = 0; c < width; ++c) {
      n.out[r * width + c] = (in[r * width + c] - mean) * n.rstd[r] * weight[c] + bias[c];
    }
  }
  return n;
}

struct NormGradient {
  Values din, dweight, dbias;
};

inline NormGradient layer_norm_backward(const Values& dout, const Values& in, const Values& weight,
                                        double eps) {
  const Index width = weight.size(), rows = in.size() / width;
  const Norm n = layer_norm(in, weight, Values(width, 0.0), eps);
  NormGradient g{Values(in.size()), Values(width), Values(width)};
  const auto count = static_cast<double>(width);
  for (Index r = 0; r < rows; ++r) {
    double plain = 0, weighted = 0;
    for (Index c = 0; c < width; ++c) {
      const double x = (in[r * width + c] - n.mean[r]) * n.rstd[r], d = dout[r * width + c];
      plain += d * weight[c];
      weighted += d * weight[c] * x;
      g.dweight[c] += d * x;
      g.dbias[c] += d;
    }
    for (Index c = 0; c < width; ++c) {
      const double x = (in[r * width + c] - n.mean[r]) * n.rstd[r];
      g.din[r * width + c] =
          n.rstd[r] * (dout[r * width + c] * weight[c] - plain / count - x * weighted / count);
    }
  }
  return g;
}

/// Returns (m, k) times (k, n).
inline Values product(const Values& a, const Values& b, Index m, Index k, Index n) {
  Values out(m * n);
  for (Index i = 0; i < m; ++i) {
    for (Index l = 0; l < k; ++l) {
      for (Index j = 0; j < n; ++j) out[i * n + j] += a[i * k + l] * b[l * n + j];
    }
  }
  return out;
}

inline Values transposed(const Values& a, Index rows, Index columns) {
  Values out(a.size());
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < columns; ++c) out[c * rows + r] = a[r * columns + c];
  }
  return out;
}

inline Values column_sums(const Values& a, Index columns) {
  Values sums(columns);
  for (Index i = 0; i < a.size(); ++i) sums[i % columns] += a[i];
  return sums;
}

inline Values linear(const Values& in, const Values& weight, const Values& bias, Index k) {
  const Index n = bias.size();
  Values out = product(in, weight, in.size() / k, k, n);
  for (Index i = 0; i < out.size(); ++i) out[i] += bias[i % n];
  return out;
}

/// Returns dout * weight^T; with `pre`, times activation'(pre). `weight` is (k, n).
inline Values linear_backward_input(const Values& dout, const Values& weight, Index k, Index n,
                                    const Values& pre = {},
                                    Activation activation = Activation::gelu_tanh) {
  Values din = product(dout, transposed(weight, k, n), dout.size() / n, n, k);
  for (Index i = 0; i < pre.size(); ++i) din[i] *= slope_of(activation, pre[i]);
  return din;
}

struct HeadResult {
  double loss = 0;
  std::int64_t count = 0;
  Values din, dweight, dbias{};
};

/// Returns the loss of logits in_scale * in * weight^T + bias and the gradient of scale * loss.
/// `bias` may be empty.
inline HeadResult head_loss(const Values& in, const Values& weight,
                            const std::vector<std::int32_t>& targets, Index width, Index valid,
                            double scale, const Values& bias = {}, double in_scale = 1) {
  const Index vocab = weight.size() / width;
  HeadResult r{0, 0, Values(in.size()), Values(weight.size()), Values(bias.size())};
  for (Index i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0) continue;
    const auto wanted = static_cast<Index>(targets[i]);
    Values p(vocab);
    double largest = -1e300, sum = 0;
    for (Index v = 0; v < valid; ++v) {
      p[v] = in_scale * dot(&in[i * width], &weight[v * width], width);
      if (!bias.empty()) p[v] += bias[v];
      largest = std::max(largest, p[v]);
    }
    for (Index v = 0; v < valid; ++v) sum += std::exp(p[v] - largest);
    r.loss += largest + std::log(sum) - p[wanted];
    ++r.count;
    for (Index v = 0; v < valid; ++v) {
      const double g = (std::exp(p[v] - largest) / sum - (v == wanted ? 1.0 : 0.0)) * scale;
      for (Index c = 0; c < width; ++c) {
        r.din[i * width + c] += g * in_scale * weight[v * width + c];
        r.dweight[v * width + c] += g * in_scale * in[i * width + c];
      }
      if (!bias.empty()) r.dbias[v] += g;
    }
  }
  return r;
}

}  // namespace ds::reference
