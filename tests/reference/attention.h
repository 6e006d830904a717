// Naive attention and its gradient: grouped keys and values, masks, bias, dropout.
#pragma once

#include <algorithm>

#include "reference/values.h"

namespace ds::reference {

/// Memory layout of one attention: qkv = q (B, H, T, D), k (B, G, S, D), v (B, G, S, D), which for
/// cross-attention are two tensors, q and kv, one after the other; out (B*T, H*D); dqkv (B*T, (H +
/// 2G) * D), or dq (B*T, H*D), then dkv (B*S, 2G * D). `s` is 0 for q, 1 for k, 2 for v.
struct AttentionShape {
  Index batch, heads, time, depth;
  Index kv_heads = 0;  // G; 0: H
  Index key_len = 0;   // S of cross-attention; 0: queries are their own keys
  [[nodiscard]] Index groups() const { return kv_heads == 0 ? heads : kv_heads; }
  [[nodiscard]] Index heads_of(Index s) const { return s == 0 ? heads : groups(); }
  [[nodiscard]] Index keys() const { return key_len == 0 ? time : key_len; }
  [[nodiscard]] Index positions(Index s) const { return s == 0 ? time : keys(); }
  [[nodiscard]] Index distances() const { return time + keys() - 1; }
  [[nodiscard]] Index row() const { return (heads + 2 * groups()) * depth; }
  [[nodiscard]] Index elements() const {
    return batch * (heads * time + 2 * groups() * keys()) * depth;
  }
  /// Returns the head of keys and values that query head h uses.
  [[nodiscard]] Index group_of(Index h) const { return h / (heads / groups()); }
  /// Returns the first column of head h of part s in a row of dqkv.
  [[nodiscard]] Index column(Index s, Index h) const {
    return ((s == 0 ? 0 : heads + (s - 1) * groups()) + h) * depth;
  }
  [[nodiscard]] Index qkv(Index s, Index b, Index h, Index t) const {
    const Index before = s == 0 ? 0 : heads * time + (s - 1) * groups() * keys();
    return (batch * before + (b * heads_of(s) + h) * positions(s) + t) * depth;
  }
  [[nodiscard]] Index out(Index b, Index h, Index t) const {
    return ((b * time + t) * heads + h) * depth;
  }
  [[nodiscard]] Index dqkv(Index s, Index b, Index h, Index t) const {
    if (key_len == 0) return (b * time + t) * row() + column(s, h);
    if (s == 0) return out(b, h, t);
    return batch * time * heads * depth +
           ((b * keys() + t) * 2 * groups() + (s - 1) * groups() + h) * depth;
  }
};

/// Converts between the two layouts of AttentionShape: rows (B*T, (H + 2G) * D) <-> heads.
inline Values heads_of_rows(const Values& from, const AttentionShape& s, bool inverse = false) {
  Values to(from.size());
  for (Index part = 0; part < 3; ++part) {
    for (Index b = 0; b < s.batch; ++b) {
      for (Index h = 0; h < s.heads_of(part); ++h) {
        for (Index t = 0; t < s.positions(part); ++t) {
          for (Index d = 0; d < s.depth; ++d) {
            const Index in_heads = s.qkv(part, b, h, t) + d, in_rows = s.dqkv(part, b, h, t) + d;
            to[inverse ? in_rows : in_heads] = from[inverse ? in_heads : in_rows];
          }
        }
      }
    }
  }
  return to;
}
inline Values rows_of_heads(const Values& from, const AttentionShape& s) {
  return heads_of_rows(from, s, true);
}

/// Visible keys, and the bias and scale of the scores.
struct AttentionMask {
  bool causal = true;
  std::int64_t window = 0;             // keys above query - window; 0: all
  std::vector<std::int32_t> ranges{};  // (B, T, 2): keys [first, last); empty: all
  Values bias{};                       // (H, T + S - 1) by key - query + T - 1; empty: none
  double scale = 0;                    // 0: 1 / sqrt(D)

  [[nodiscard]] bool sees(const AttentionShape& s, Index b, Index t, Index key) const {
    const auto q = static_cast<std::int64_t>(t), k = static_cast<std::int64_t>(key);
    if ((causal && k > q) || (window > 0 && k <= q - window)) return false;
    const Index at = 2 * (b * s.time + t);
    return ranges.empty() || (k >= ranges[at] && k < ranges[at + 1]);
  }
  [[nodiscard]] double factor(const AttentionShape& s) const {
    return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(s.depth));
  }
};

struct AttentionResult {
  Values out, lse;
};

/// Returns one row of probabilities of all S keys; masked ones are 0. In a row without keys all are
/// 0, and *lse is unchanged.
inline Values attention_row(const Values& qkv, const AttentionShape& s, const AttentionMask& mask,
                            Index b, Index h, Index t, double* lse) {
  Values p(s.keys());
  double largest = -1e300, sum = 0;
  for (Index j = 0; j < s.keys(); ++j) {
    if (!mask.sees(s, b, t, j)) continue;
    p[j] =
        dot(&qkv[s.qkv(0, b, h, t)], &qkv[s.qkv(1, b, s.group_of(h), j)], s.depth) * mask.factor(s);
    if (!mask.bias.empty()) p[j] += mask.bias[h * s.distances() + j + s.time - 1 - t];
    largest = std::max(largest, p[j]);
  }
  for (Index j = 0; j < s.keys(); ++j) {
    p[j] = mask.sees(s, b, t, j) ? std::exp(p[j] - largest) : 0;
    sum += p[j];
  }
  if (sum == 0) return p;
  for (double& x : p) x /= sum;
  if (lse != nullptr) *lse = largest + std::log(sum);
  return p;
}

/// Returns the dropout factor of one probability; `factors` is (B, H, T, S), or empty: 1.
inline double factor_of(const Values& factors, const AttentionShape& s, Index b, Index h, Index t,
                        Index j) {
  return factors.empty() ? 1 : factors[((b * s.heads + h) * s.time + t) * s.keys() + j];
}

/// Computes forward attention. lse of a query without keys is 0.
inline AttentionResult attention(const Values& qkv, const AttentionShape& s,
                                 const Values& factors = {}, const AttentionMask& mask = {}) {
  AttentionResult r{Values(s.batch * s.time * s.heads * s.depth),
                    Values(s.batch * s.heads * s.time)};
  for (Index b = 0; b < s.batch; ++b) {
    for (Index h = 0; h < s.heads; ++h) {
      for (Index t = 0; t < s.time; ++t) {
        const Values p =
            attention_row(qkv, s, mask, b, h, t, &r.lse[(b * s.heads + h) * s.time + t]);
        for (Index j = 0; j < s.keys(); ++j) {
          const double kept = p[j] * factor_of(factors, s, b, h, t, j);
          for (Index d = 0; d < s.depth; ++d) {
            r.out[s.out(b, h, t) + d] += kept * qkv[s.qkv(2, b, s.group_of(h), j) + d];
          }
        }
      }
    }
  }
  return r;
}

/// Returns dqkv in rows. `dbias` (H, T + S - 1), if given, is overwritten.
inline Values attention_backward(const Values& qkv, const Values& dout, const AttentionShape& s,
                                 const Values& factors = {}, const AttentionMask& mask = {},
                                 Values* dbias = nullptr) {
  Values dqkv(s.elements());
  if (dbias != nullptr) *dbias = Values(s.heads * s.distances());
  for (Index b = 0; b < s.batch; ++b) {
    for (Index h = 0; h < s.heads; ++h) {
      const Index g = s.group_of(h);
      for (Index t = 0; t < s.time; ++t) {
        const Values p = attention_row(qkv, s, mask, b, h, t, nullptr);
        Values dp(s.keys());
        double delta = 0;
        for (Index j = 0; j < s.keys(); ++j) {
          dp[j] = dot(&dout[s.out(b, h, t)], &qkv[s.qkv(2, b, g, j)], s.depth) *
                  factor_of(factors, s, b, h, t, j);
          delta += p[j] * dp[j];
        }
        for (Index j = 0; j < s.keys(); ++j) {
          const double dscore = p[j] * (dp[j] - delta), ds = dscore * mask.factor(s);
          const double kept = p[j] * factor_of(factors, s, b, h, t, j);
          if (dbias != nullptr) (*dbias)[h * s.distances() + j + s.time - 1 - t] += dscore;
          for (Index d = 0; d < s.depth; ++d) {
            dqkv[s.dqkv(0, b, h, t) + d] += ds * qkv[s.qkv(1, b, g, j) + d];
            dqkv[s.dqkv(1, b, g, j) + d] += ds * qkv[s.qkv(0, b, h, t) + d];
            dqkv[s.dqkv(2, b, g, j) + d] += kept * dout[s.out(b, h, t) + d];
          }
        }
      }
    }
  }
  return dqkv;
}

/// Returns the ranges of KeyRanges, by comparing every query with every key. Without key_documents
/// queries are their own keys.
inline std::vector<std::int32_t> key_ranges(const std::vector<std::int32_t>& documents,
                                            const std::vector<std::int32_t>& key_documents,
                                            Index batch) {
  const auto& keys = key_documents.empty() ? documents : key_documents;
  const Index time = documents.size() / batch, count = keys.size() / batch;
  std::vector<std::int32_t> ranges(2 * batch * time);
  for (Index q = 0; q < batch * time; ++q) {
    const Index first_key = q / time * count;
    bool found = false;
    for (Index k = 0; k < count && documents[q] >= 0; ++k) {
      if (keys[first_key + k] != documents[q]) continue;
      if (!found) ranges[2 * q] = static_cast<std::int32_t>(k);
      ranges[2 * q + 1] = static_cast<std::int32_t>(k + 1);
      found = true;
    }
  }
  return ranges;
}

}  // namespace ds::reference
