// Tests of attention with grouped keys, keys of another sequence, masks, a bias, a custom scale and
// dropout, against the reference; of equal bits for any number of threads; and of documents that
// change nothing of each other.
#include "conformance/masked_attention.h"

namespace ds::conformance {
namespace {

// Blocks of 64: less than one, whole ones, one more; keys that end inside a block and at its edge;
// groups of one, some and all heads.
const Masked kCases[] = {
    {.batch = 2, .heads = 4, .kv_heads = 2, .time = 65, .depth = 16},
    {.batch = 1, .heads = 8, .kv_heads = 1, .time = 130, .depth = 24},
    {.batch = 1, .heads = 6, .kv_heads = 3, .time = 128, .depth = 80},
    {.batch = 2, .heads = 2, .kv_heads = 2, .time = 70, .depth = 32, .causal = false},
    {.batch = 2, .heads = 4, .time = 129, .depth = 16, .causal = false, .bias = true, .scale = 1},
    {.batch = 1, .heads = 2, .time = 1, .depth = 64, .bias = true},
    // Padding at the end, as documents: 0 is the text.
    {.batch = 3,
     .heads = 2,
     .kv_heads = 1,
     .time = 130,
     .depth = 8,
     .causal = false,
     .documents = {{{0, 64}, {-1, 66}}, {{0, 1}, {-1, 129}}, {{0, 129}, {-1, 1}}}},
    {.batch = 2,
     .heads = 4,
     .kv_heads = 2,
     .time = 66,
     .depth = 16,
     .bias = true,
     .scale = 0.4F,
     .documents = {{{0, 66}}, {{3, 40}, {-1, 26}}}},
    // Several documents: shorter and longer than a block, padding before, between and after them.
    {.batch = 2,
     .heads = 3,
     .time = 333,
     .depth = 5,
     .documents = {{{0, 5}, {1, 59}, {2, 70}, {3, 199}}, {{7, 129}, {-1, 3}, {4, 200}, {-1, 1}}}},
    {.batch = 1,
     .heads = 2,
     .kv_heads = 1,
     .time = 600,
     .depth = 24,
     .causal = false,
     .bias = true,
     .documents = {{{-1, 70}, {1, 130}, {2, 300}, {-1, 64}, {3, 36}}}},
    {.batch = 2,
     .heads = 2,
     .time = 192,
     .depth = 16,
     .dropout = true,
     .documents = {{{0, 128}, {1, 64}}, {{0, 100}, {1, 92}}}},
    // Windows smaller and larger than a block, alone and inside documents.
    {.batch = 1, .heads = 2, .time = 200, .depth = 16, .window = 1},
    {.batch = 2, .heads = 4, .kv_heads = 2, .time = 330, .depth = 8, .window = 40},
    {.batch = 1, .heads = 2, .time = 261, .depth = 33, .window = 130, .bias = true},
    {.batch = 1, .heads = 2, .time = 65, .depth = 16, .window = 65, .dropout = true},
    {.batch = 1, .heads = 2, .time = 150, .depth = 16, .causal = false, .window = 30},
    {.batch = 1,
     .heads = 2,
     .time = 300,
     .depth = 16,
     .window = 70,
     .documents = {{{0, 200}, {1, 90}, {-1, 10}}}},
    // Keys of another sequence.
    {.batch = 2, .heads = 2, .time = 67, .keys = 131, .depth = 16, .causal = false, .scale = 1},
    {.batch = 2, .heads = 4, .kv_heads = 2, .time = 131, .keys = 33, .depth = 24, .causal = false},
    {.batch = 1, .heads = 2, .time = 65, .keys = 129, .depth = 8, .causal = false, .bias = true},
    {.batch = 1, .heads = 2, .time = 129, .keys = 65, .depth = 8, .bias = true, .dropout = true},
    {.batch = 2, .heads = 3, .kv_heads = 1, .time = 71, .keys = 200, .depth = 5, .window = 9},
    {.batch = 2,
     .heads = 4,
     .kv_heads = 2,
     .time = 77,
     .keys = 301,
     .depth = 16,
     .causal = false,
     .dropout = true,
     .documents = {{{0, 30}, {1, 40}, {-1, 7}}, {{2, 70}, {5, 7}}},
     .key_documents = {{{-1, 1}, {0, 100}, {1, 199}, {-1, 1}}, {{2, 300}, {-1, 1}}}},
    // One query of a cache, of which only the beginning is filled in.
    {.batch = 2,
     .heads = 4,
     .kv_heads = 2,
     .time = 1,
     .keys = 200,
     .depth = 16,
     .causal = false,
     .bias = true,
     .documents = {{{0, 1}}, {{0, 1}}},
     .key_documents = {{{0, 131}, {-1, 69}}, {{0, 5}, {-1, 195}}}},
};

bool too_large(const Masked& c) { return small_cases() && c.time > 70; }

}  // namespace

TEST_CASE("attention with groups, masks, other keys, bias, scale and dropout, and its gradients") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const Masked& c : kCases) {
      if (too_large(c)) continue;
      CAPTURE(&c - kCases);
      MaskedAttention attention(c, act);
      MaskedAttention::Results r = attention.run(subject.options);
      const Values qkv = attention.qkv_values(), factors = attention.factors();
      const auto want = reference::attention(qkv, attention.shape(), factors, attention.mask());
      check_close("out", r.out, want.out, act);
      check_close("lse", r.lse, want.lse, act);
      Values dbias;
      const Values dqkv = reference::attention_backward(
          qkv, attention.dout.values(), attention.shape(), factors, attention.mask(), &dbias);
      // With one visible key its probability is 1, so only the value has a gradient.
      check_close("dqkv and dkv", r.dqkv, dqkv, act);
      if (c.bias && c.key_len() > 1) check_close("dbias", r.dbias, dbias, act);
    }
  });
}

TEST_CASE("attention: a sequence without keys gives zeros, and so does its gradient") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const std::int64_t keys : {0, 70}) {
      for (const bool causal : {true, false}) {
        const Masked c{.batch = 2,
                       .heads = 2,
                       .kv_heads = 1,
                       .time = 66,
                       .keys = keys,
                       .depth = 16,
                       .causal = causal,
                       .bias = true,
                       .documents = {{{-1, 66}}, {{0, 66}}},
                       .key_documents = {{{0, 70}}, {{0, 70}}}};
        MaskedAttention attention(c, act);
        MaskedAttention::Results r = attention.run(subject.options);
        const Values out = r.out.values(), dqkv = r.dqkv.values(), lse = r.lse.values();
        for (Index i = 0; i < out.size() / 2; ++i) REQUIRE(out[i] == 0);
        for (Index i = 0; i < lse.size() / 2; ++i) REQUIRE(lse[i] == 0);
        const reference::AttentionShape s = attention.shape();
        for (Index part = 0; part < 3; ++part) {
          for (Index t = 0; t < s.positions(part); ++t) {
            REQUIRE(dqkv[s.dqkv(part, 0, 0, t)] == 0);
          }
        }
        const auto want = reference::attention(attention.qkv_values(), s, {}, attention.mask());
        check_close("out", r.out, want.out, act);
      }
    }
  });
}

TEST_CASE("attention with groups and masks: the same bits for any number of threads") {
  for_each_subject([](const Subject& subject, DType act) {
    if (small_cases() && act != DType::bf16) return;
    for (const Masked& c : kCases) {
      if (too_large(c)) continue;
      CAPTURE(&c - kCases);
      MaskedAttention attention(c, act);
      Options options = subject.options;
      options.threads = 1;
      MaskedAttention::Results one = attention.run(options);
      options.threads = 3;
      MaskedAttention::Results three = attention.run(options);
      CHECK((one.out.bits() == three.out.bits()));
      CHECK((one.lse.bits() == three.lse.bits()));
      CHECK((one.dqkv.bits() == three.dqkv.bits()));
      if (c.bias) CHECK((one.dbias.bits() == three.dbias.bits()));
    }
  });
}

TEST_CASE("attention: changing one document changes no bit of another") {
  for_each_subject([](const Subject& subject, DType act) {
    for (const bool causal : {true, false}) {
      const Masked c{.batch = 1,
                     .heads = 2,
                     .time = 200,
                     .depth = 16,
                     .causal = causal,
                     .documents = {{{0, 50}, {1, 99}, {2, 40}, {-1, 11}}}};
      if (too_large(c)) return;
      MaskedAttention attention(c, act);
      MaskedAttention::Results before = attention.run(subject.options);
      attention.change(50, 149);
      MaskedAttention::Results after = attention.run(subject.options);
      const std::size_t row = static_cast<std::size_t>(c.heads * c.depth * size_of(act));
      const auto alike = [&](Buffer& x, Buffer& y, std::size_t of_row, bool inside) {
        const std::string a = x.bits(), b = y.bits();
        bool same = true;
        for (std::size_t t = 0; t < 200; ++t) {
          if ((t >= 50 && t < 149) != inside) continue;
          same = same && a.compare(t * of_row, of_row, b, t * of_row, of_row) == 0;
        }
        return same;
      };
      CHECK(alike(before.out, after.out, row, false));
      CHECK(alike(before.dqkv, after.dqkv, 3 * row, false));
      CHECK_FALSE(alike(before.out, after.out, row, true));
      CHECK_FALSE(alike(before.dqkv, after.dqkv, 3 * row, true));
    }
  });
}

TEST_CASE("key ranges: documents in order and not, padding, and other keys") {
  struct Row {
    std::vector<std::int32_t> documents, keys;
  };
  for (const Subject& subject : subjects()) {
    Bench bench(subject.options, {});
    for (const Row& r : {Row{{0, 0, 1, 1, 1, -1}, {}},
                         {{-1, -1, -1, 5}, {}},
                         {{2, 0, 0, -7, 1, 1, -1, -1}, {}},
                         {{0, 1, -1, 2, 2, 9}, {-1, 0, 0, 2, 2, 1, 1, 1, -1, 9}},
                         {{3, 2, 1, 3}, {1, 2, 3, 4, 4, 4}}}) {
      for (const std::int64_t batch : {1, 2}) {
        const auto time = static_cast<std::int64_t>(r.documents.size()) / batch;
        std::vector<std::int32_t> got(2 * r.documents.size(), -5);
        const auto count = static_cast<std::int64_t>(r.keys.size());
        bench.run(KeyRanges{.documents = {r.documents.data(), DType::i32, {batch * time}},
                            .key_documents = count == 0
                                                 ? ConstTensor{}
                                                 : ConstTensor{r.keys.data(), DType::i32, {count}},
                            .ranges = {got.data(), DType::i32, {batch, time, 2}}});
        CHECK(got == reference::key_ranges(r.documents, r.keys, u(batch)));
      }
    }
  }
}

}  // namespace ds::conformance
