// MaskedAttention: one attention with its masks as a test describes them, and its reference.
#pragma once

#include <utility>
#include <vector>

#include "conformance/harness.h"
#include "reference/dropout.h"

namespace ds::conformance {

using reference::Index;

inline Index u(std::int64_t x) { return static_cast<Index>(x); }

/// The documents of one sequence: (number, tokens) in order.
using Documents = std::vector<std::pair<std::int32_t, std::int64_t>>;

struct Masked {
  std::int64_t batch = 1, heads = 1;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t time = 1;
  std::int64_t keys = 0;  // positions of another sequence's keys; 0: the queries' own
  std::int64_t depth = 1;
  bool causal = true;
  std::int64_t window = 0;
  bool bias = false, dropout = false;
  float scale = 0;
  std::vector<Documents> documents{}, key_documents{};  // by sequence; empty: no ranges

  [[nodiscard]] std::int64_t key_len() const { return keys == 0 ? time : keys; }
  [[nodiscard]] std::int64_t groups() const { return kv_heads == 0 ? heads : kv_heads; }
};

inline std::vector<std::int32_t> numbers_of(const std::vector<Documents>& sequences) {
  std::vector<std::int32_t> numbers;
  for (const Documents& documents : sequences) {
    for (const auto& [number, tokens] : documents) numbers.insert(numbers.end(), u(tokens), number);
  }
  return numbers;
}

/// Holds the inputs of a case, and runs forward and backward.
class MaskedAttention {
 public:
  struct Results {
    Buffer out, lse, dqkv, dbias;  // dqkv: with other keys dq, then dkv
  };

  MaskedAttention(const Masked& c, DType act)
      : dout(random_buffer(act, {c.batch * c.time, c.heads * c.depth}, 3)),
        c_(c),
        act_(act),
        qkv_(random_buffer(act, {static_cast<std::int64_t>(shape().elements())}, 1, 1.5)),
        bias_(random_buffer(DType::f32, {c.heads, c.time + c.key_len() - 1}, 2)) {
    if (!c.documents.empty()) {
      ranges_ = reference::key_ranges(
          numbers_of(c.documents),
          c.keys == 0 ? std::vector<std::int32_t>{} : numbers_of(c.key_documents), u(c.batch));
      REQUIRE(ranges_.size() == u(2 * c.batch * c.time));
    }
    for (std::int64_t b = 0; b < c.batch; ++b) samples_.push_back(0x500000003 + 7 * b);
  }

  Results run(const Options& options) {
    Bench bench(options, {.micro = c_.batch,
                          .seq_len = c_.time,
                          .width = c_.heads * c_.depth,
                          .heads = c_.heads,
                          .ffn = 1,
                          .vocab = 1,
                          .chunk_rows = 1,
                          .kv_heads = c_.kv_heads,
                          .key_len = c_.keys,
                          .act = act_});
    const std::int64_t rows = c_.batch * c_.time, width = c_.heads * c_.depth;
    Results r{Buffer(act_, {rows, width}), Buffer(DType::f32, {c_.batch, c_.heads, c_.time}),
              Buffer(act_, {static_cast<std::int64_t>(shape().elements())}),
              Buffer(DType::f32, {c_.heads, c_.time + c_.key_len() - 1})};
    Attention forward{.qkv = queries(),
                      .kv = other_keys(),
                      .ranges = ranges(),
                      .bias = c_.bias ? bias_.view() : ConstTensor{},
                      .out = r.out.tensor(),
                      .lse = r.lse.tensor(),
                      .dropout = draw(),
                      .kv_heads = c_.kv_heads,
                      .causal = c_.causal,
                      .window = c_.window,
                      .scale = c_.scale};
    bench.run(forward);
    const std::int64_t of_keys = 2 * c_.groups() * c_.depth;
    AttentionBackward backward{
        .qkv = forward.qkv,
        .kv = forward.kv,
        .ranges = forward.ranges,
        .bias = forward.bias,
        .out = r.out.view(),
        .lse = r.lse.view(),
        .dout = dout.view(),
        .dqkv = {r.dqkv.data(), act_, {rows, width + (c_.keys == 0 ? of_keys : 0)}},
        .dbias = c_.bias ? r.dbias.tensor() : Tensor{},
        .dropout = forward.dropout,
        .kv_heads = c_.kv_heads,
        .causal = c_.causal,
        .window = c_.window,
        .scale = c_.scale};
    if (c_.keys != 0) {
      backward.dkv = {
          r.dqkv.data() + rows * width * size_of(act_), act_, {c_.batch * c_.keys, of_keys}};
    }
    bench.run(backward);
    return r;
  }

  /// Changes queries, keys, values and dout of the positions [first, last) of a case with one
  /// sequence and its own keys.
  void change(std::int64_t first, std::int64_t last) {
    Values values = qkv_values(), grads = dout.values();
    const reference::AttentionShape s = shape();
    for (Index t = u(first); t < u(last); ++t) {
      for (Index h = 0; h < s.heads; ++h) {
        for (Index d = 0; d < s.depth; ++d) {
          grads[s.out(0, h, t) + d] *= -2;
          for (Index part = 0; part < 3; ++part) {
            if (h < s.heads_of(part)) values[s.qkv(part, 0, h, t) + d] *= -2;
          }
        }
      }
    }
    qkv_ = Buffer::of(act_, {static_cast<std::int64_t>(values.size())}, values);
    dout = Buffer::of(act_, {c_.time, c_.heads * c_.depth}, grads);
  }

  [[nodiscard]] reference::AttentionShape shape() const {
    return {u(c_.batch), u(c_.heads), u(c_.time), u(c_.depth), u(c_.kv_heads), u(c_.keys)};
  }
  [[nodiscard]] reference::AttentionMask mask() {
    return {.causal = c_.causal,
            .window = c_.window,
            .ranges = ranges_,
            .bias = c_.bias ? bias_.values() : Values{},
            .scale = static_cast<double>(c_.scale)};
  }
  [[nodiscard]] Values qkv_values() { return qkv_.values(); }
  /// The dropout's factors; empty without one.
  [[nodiscard]] Values factors() const {
    if (!c_.dropout) return {};
    return reference::attention_factors(
        {.seed = kSeed, .key = kKey, .step = kStep, .rate = static_cast<double>(kRate)}, shape(),
        samples_);
  }

  Buffer dout;

 private:
  static constexpr std::uint64_t kSeed = 0x123456789ABCDEF0U, kKey = 0xFEDCBA9876543210U,
                                 kStep = 0x300000007U;
  static constexpr float kRate = 0.25F;

  [[nodiscard]] ConstTensor queries() {
    if (c_.keys != 0) return {qkv_.data(), act_, {1, c_.batch, c_.heads, c_.time, c_.depth}};
    if (c_.groups() == c_.heads) {
      return {qkv_.data(), act_, {3, c_.batch, c_.heads, c_.time, c_.depth}};
    }
    return {qkv_.data(), act_, {1, c_.batch, c_.heads + 2 * c_.kv_heads, c_.time, c_.depth}};
  }
  [[nodiscard]] ConstTensor other_keys() {
    if (c_.keys == 0) return {};
    const std::int64_t before = c_.batch * c_.heads * c_.time * c_.depth;
    return {qkv_.data() + before * size_of(act_),
            act_,
            {1, c_.batch, 2 * c_.groups(), c_.keys, c_.depth}};
  }
  [[nodiscard]] ConstTensor ranges() const {
    if (ranges_.empty()) return {};
    return {ranges_.data(), DType::i32, {c_.batch, c_.time, 2}};
  }
  [[nodiscard]] DropoutDraw draw() const {
    if (!c_.dropout) return {};
    return {.samples = {samples_.data(), DType::i64, {c_.batch}},
            .rate = kRate,
            .seed = kSeed,
            .key = kKey,
            .step = kStep};
  }

  const Masked& c_;
  DType act_;
  Buffer qkv_, bias_;
  std::vector<std::int32_t> ranges_;
  std::vector<std::int64_t> samples_;
};

}  // namespace ds::conformance
