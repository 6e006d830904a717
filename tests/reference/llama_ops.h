// Naive RMS norm, rotary embedding, SwiGLU and T5's relative position bias, with gradients.
#pragma once

#include "engine/kernels/ops_attention.h"
#include "reference/attention.h"

namespace ds::reference {

struct RmsNormResult {
  Values out, rstd;
};

inline RmsNormResult rms_norm(const Values& in, const Values& weight, double eps) {
  const Index width = weight.size(), rows = in.size() / width;
  RmsNormResult n{Values(in.size()), Values(rows)};
  for (Index r = 0; r < rows; ++r) {
    const double squares = dot(&in[r * width], &in[r * width], width);
    n.rstd[r] = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
    for (Index c = 0; c < width; ++c) {
      n.out[r * width + c] = in[r * width + c] * n.rstd[r] * weight[c];
    }
  }
  return n;
}

struct RmsNormGradient {
  Values din, dweight;
};

inline RmsNormGradient rms_norm_backward(const Values& dout, const Values& in, const Values& weight,
                                         double eps) {
  const Index width = weight.size(), rows = in.size() / width;
  const RmsNormResult n = rms_norm(in, weight, eps);
  RmsNormGradient g{Values(in.size()), Values(width)};
  for (Index r = 0; r < rows; ++r) {
    double weighted = 0;
    for (Index c = 0; c < width; ++c) {
      const double x = in[r * width + c] * n.rstd[r], d = dout[r * width + c];
      weighted += d * weight[c] * x;
      g.dweight[c] += d * x;
    }
    weighted /= static_cast<double>(width);
    for (Index c = 0; c < width; ++c) {
      const double x = in[r * width + c] * n.rstd[r];
      g.din[r * width + c] = n.rstd[r] * (dout[r * width + c] * weight[c] - x * weighted);
    }
  }
  return g;
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// in (rows, 2F): gates, then ups.
inline Values swiglu(const Values& in, Index ffn) {
  Values out(in.size() / 2);
  for (Index i = 0; i < out.size(); ++i) {
    const double gate = in[i / ffn * 2 * ffn + i % ffn], up = in[i / ffn * 2 * ffn + ffn + i % ffn];
    out[i] = gate * sigmoid(gate) * up;
  }
  return out;
}

inline Values swiglu_backward(const Values& in, const Values& dout, Index ffn) {
  Values din(in.size());
  for (Index i = 0; i < dout.size(); ++i) {
    const Index at_gate = i / ffn * 2 * ffn + i % ffn, at_up = at_gate + ffn;
    const double gate = in[at_gate], s = sigmoid(gate);
    din[at_gate] = dout[i] * in[at_up] * s * (1 + gate * (1 - s));
    din[at_up] = dout[i] * gate * s;
  }
  return din;
}

/// Scaled frequency of a rotary pair, as transformers writes it: by wavelengths.
inline double scaled_frequency(double frequency, const RotaryScaling& s) {
  const double wavelength = 2 * 3.14159265358979323846 / frequency;
  const auto trained = static_cast<double>(s.trained);
  if (s.kind == RotaryScaling::Kind::none) return frequency;
  if (s.kind == RotaryScaling::Kind::linear) return frequency / s.factor;
  if (wavelength > trained / s.low) return frequency / s.factor;
  if (wavelength < trained / s.high) return frequency;
  const double smooth = (trained / wavelength - s.low) / (s.high - s.low);
  return (1 - smooth) * frequency / s.factor + smooth * frequency;
}

/// Rotates queries and keys. With `rows`, `in` is (B*T, (H + 2G) * D), else heads. `positions`:
/// (B*T); empty: the position of token t is t.
inline Values rotary(const Values& in, const AttentionShape& s, double theta, bool inverse,
                     bool rows, const RotaryScaling& scaling = {},
                     const std::vector<std::int32_t>& positions = {}) {
  Values out = in;
  const Index half = s.depth / 2;
  for (Index part = 0; part < 2; ++part) {
    for (Index b = 0; b < s.batch; ++b) {
      for (Index h = 0; h < s.heads_of(part); ++h) {
        for (Index t = 0; t < s.time; ++t) {
          const Index at = rows ? s.dqkv(part, b, h, t) : s.qkv(part, b, h, t);
          const double position =
              positions.empty() ? static_cast<double>(t) : positions[b * s.time + t];
          for (Index i = 0; i < half; ++i) {
            const double fraction = static_cast<double>(2 * i) / static_cast<double>(s.depth);
            const double angle = position * (inverse ? -1 : 1) *
                                 scaled_frequency(std::pow(theta, -fraction), scaling);
            const double x = in[at + i], y = in[at + half + i];
            out[at + i] = x * std::cos(angle) - y * std::sin(angle);
            out[at + half + i] = y * std::cos(angle) + x * std::sin(angle);
          }
        }
      }
    }
  }
  return out;
}

struct RelativeBuckets {
  std::int64_t buckets, max_distance;
  bool bidirectional;
};

/// Returns the bucket as transformers' T5Attention._relative_position_bucket;
/// `distance` = key - query. Half of the buckets hold one distance each, the rest grow by a
/// constant ratio up to max_distance.
inline std::int64_t relative_bucket(std::int64_t distance, const RelativeBuckets& b) {
  std::int64_t buckets = b.buckets, first = 0;
  if (b.bidirectional) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<std::int64_t>(-distance, 0);
  }
  const std::int64_t exact = buckets / 2;
  if (distance < exact) return first + distance;
  const double ratio = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(b.max_distance) / static_cast<double>(exact));
  // Distances on a boundary belong to the bucket above it.
  const auto grown = static_cast<std::int64_t>(ratio * static_cast<double>(buckets - exact) + 1e-9);
  return first + std::min(exact + grown, buckets - 1);
}

/// (buckets, H) to (H, T + S - 1), with the position of the first query.
inline Values relative_bias(const Values& table, Index heads, Index time, Index keys,
                            const RelativeBuckets& b, std::int64_t first = 0) {
  const Index distances = time + keys - 1;
  Values out(heads * distances);
  for (Index i = 0; i < out.size(); ++i) {
    const auto distance = static_cast<std::int64_t>(i % distances) - std::int64_t(time) + 1 - first;
    out[i] = table[static_cast<Index>(relative_bucket(distance, b)) * heads + i / distances];
  }
  return out;
}

inline Values relative_bias_backward(const Values& dout, Index heads, Index time, Index keys,
                                     const RelativeBuckets& b) {
  const Index distances = time + keys - 1;
  Values dtable(static_cast<Index>(b.buckets) * heads);
  for (Index i = 0; i < dout.size(); ++i) {
    const auto distance = static_cast<std::int64_t>(i % distances) - std::int64_t(time) + 1;
    dtable[static_cast<Index>(relative_bucket(distance, b)) * heads + i / distances] += dout[i];
  }
  return dtable;
}

}  // namespace ds::reference
