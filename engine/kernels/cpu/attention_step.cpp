#include "engine/kernels/cpu/attention_step.h"

#include <cstring>

#include "engine/kernels/cpu/scalar_log.h"

namespace ds::cpu {
namespace {

struct Interval {
  std::int64_t first, last;
};

/// Returns the keys that the query of sequence b sees. It has number 0, so a window hides none.
Interval seen_by(const Attention& a, std::int64_t keys, std::int64_t b) {
  Interval seen{.first = 0, .last = a.causal ? 1 : keys};
  if (!a.ranges) return seen;
  const auto* range = static_cast<const std::int32_t*>(a.ranges.data) + 2 * b;
  seen.first = std::max<std::int64_t>(range[0], 0);
  seen.last = std::min<std::int64_t>(range[1], seen.last);
  return seen;
}

class OneHead {
 public:
  OneHead(const Context& c, const AttentionSizes& s, const Attention& a, float* scores, float* out)
      : c_(c), s_(s), a_(a), act_(c.act(s.type)), scores_(scores), out_(out) {}

  /// `k`, `v`: (S, D) of the head's keys and values.
  void run(std::int64_t b, std::int64_t h, const void* k, const void* v, const Interval& seen) {
    const std::int64_t count = std::max<std::int64_t>(seen.last - seen.first, 0),
                       head = b * s_.heads + h;
    float& lse = static_cast<float*>(a_.lse.data)[head];
    std::memset(out_, 0, static_cast<std::size_t>(s_.depth) * sizeof(float));
    lse = 0;
    if (count > 0) {
      score(h, at(a_.qkv.data, s_.type, head * s_.depth), k, seen);
      float largest = 0, sum = 0;
      c_.vector.f32.logits_row(scores_, 0, count, count, &largest, &sum);
      lse = static_cast<float>(static_cast<double>(largest) + scalar_log(static_cast<double>(sum)));
      c_.vector.f32.logits_gradient(scores_, count, lse, 1.0F);  // the probabilities
      act_.add_products(scores_, count, at(v, s_.type, seen.first * s_.depth), s_.depth, s_.depth,
                        out_);
    }
    act_.from_f32(out_, at(a_.out.data, s_.type, head * s_.depth), s_.depth);
  }

 private:
  void score(std::int64_t h, const void* q, const void* k, const Interval& seen) {
    const float scale =
        a_.scale != 0 ? a_.scale : 1.0F / __builtin_sqrtf(static_cast<float>(s_.depth));
    const auto* bias = static_cast<const float*>(a_.bias.data);
    for (std::int64_t key = seen.first; key < seen.last; ++key) {
      const float product = act_.dot(q, at(k, s_.type, key * s_.depth), s_.depth) * scale;
      scores_[key - seen.first] = bias == nullptr ? product : product + bias[h * s_.keys + key];
    }
  }

  const Context& c_;
  const AttentionSizes& s_;
  const Attention& a_;
  const ActKernels& act_;
  float *scores_, *out_;
};

}  // namespace

void attend_one_query(const Context& c, const AttentionSizes& s, const Attention& a) {
  DS_ASSERT(s.time == 1 && a.dropout.rate == 0);
  Scratch scratch = c.scratch();
  float* const scores = scratch.take<float>(c.pool.size() * s.keys);
  float* const sums = scratch.take<float>(c.pool.size() * s.depth);
  const void* const from = s.cross ? a.kv.data : a.qkv.data;
  const std::int64_t before = s.cross ? 0 : s.batch * s.heads;  // heads before the keys
  const std::int64_t together = s.heads / s.groups, each = s.keys * s.depth;
  c.pool.parallel_for(s.batch * s.groups, [&](std::int64_t task, int thread) {
    const std::int64_t b = task / s.groups, g = task % s.groups;
    const void* const k = at(from, s.type, (before + task) * each);
    const void* const v = at(from, s.type, (before + s.batch * s.groups + task) * each);
    OneHead head(c, s, a, scores + thread * s.keys, sums + thread * s.depth);
    for (std::int64_t h = g * together; h < (g + 1) * together; ++h)
      head.run(b, h, k, v, seen_by(a, s.keys, b));
  });
}

}  // namespace ds::cpu
