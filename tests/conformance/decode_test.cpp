// Tests of the ops of decoding: the cache of keys and values, and products of few rows.
#include "conformance/harness.h"

namespace ds::conformance {
namespace {

struct CacheCase {
  std::int64_t batch, heads, groups, time, room, depth;
};
const CacheCase kCaches[] = {
    {1, 4, 4, 1, 7, 8}, {3, 4, 2, 5, 9, 16}, {2, 6, 1, 33, 40, 6}, {2, 3, 3, 1, 1, 64}};

TEST_CASE("keys and values go to their slots; other slots and padding change nothing") {
  for_each_subject([&](const Subject& subject, DType act) {
    for (const CacheCase& c : kCaches) {
      CAPTURE(c.room);
      const bool alike = c.heads == c.groups;
      const Shape from = alike ? Shape{3, c.batch, c.heads, c.time, c.depth}
                               : Shape{1, c.batch, c.heads + 2 * c.groups, c.time, c.depth};
      Bench bench(subject.options, {.micro = c.batch,
                                    .seq_len = c.time,
                                    .width = c.heads * c.depth,
                                    .heads = c.heads,
                                    .kv_heads = alike ? 0 : c.groups,
                                    .act = act});
      Buffer qkv = random_buffer(act, from, 1);
      Buffer cache = random_buffer(act, {1, c.batch, 2 * c.groups, c.room, c.depth}, 2);
      Buffer queries(act, {1, c.batch, c.heads, c.time, c.depth});
      // Rows in an order of their own; every third is padding.
      std::vector<std::int32_t> slots;
      for (std::int64_t i = 0; i < c.batch * c.time; ++i) {
        const std::int64_t slot = (c.room - 1 - i % c.time + c.room) % c.room;
        slots.push_back(i % 3 == 1 ? -1 : static_cast<std::int32_t>(slot));
      }
      Values want = cache.values();
      const Values before = qkv.values();
      const std::int64_t each = c.time * c.depth;
      for (std::int64_t h = 0; h < 2 * c.batch * c.groups; ++h) {  // keys, then values
        const std::int64_t b = h / c.groups % c.batch;
        for (std::int64_t t = 0; t < c.time; ++t) {
          const std::int32_t slot = slots[static_cast<std::size_t>(b * c.time + t)];
          if (slot < 0) continue;
          const auto source =
              static_cast<std::size_t>((c.batch * c.heads + h) * each + t * c.depth);
          const auto target = static_cast<std::size_t>((h * c.room + slot) * c.depth);
          for (std::size_t d = 0; d < static_cast<std::size_t>(c.depth); ++d)
            want[target + d] = before[source + d];
        }
      }
      bench.run(CacheKeys{.qkv = qkv.view(),
                          .slots = {slots.data(), DType::i32, {c.batch * c.time}},
                          .queries = queries.tensor(),
                          .cache = cache.tensor(),
                          .kv_heads = alike ? 0 : c.groups});
      CHECK((cache.values() == want));
      const Values made = queries.values();
      CHECK(std::equal(made.begin(), made.end(), before.begin()));
    }
  });
}

struct FewCase {
  std::int64_t k, n;
};
const FewCase kFew[] = {{1, 1}, {7, 130}, {64, 64}, {300, 65}, {2049, 96}};

TEST_CASE("linear layers and logits of few rows: every row has the bits that it has alone") {
  for_each_subject([&](const Subject& subject, DType act) {
    for (const FewCase& c : kFew) {
      CAPTURE(c.k);
      Bench bench(subject.options, {.micro = 9,
                                    .seq_len = 1,
                                    .width = c.k,
                                    .ffn = c.n,
                                    .vocab = c.n,
                                    .chunk_rows = 9,
                                    .act = act});
      Buffer weight = random_buffer(act, {c.k, c.n}, 1), bias = random_buffer(act, {c.n}, 2);
      Buffer table = random_buffer(act, {c.n, c.k}, 3);
      for (const std::int64_t rows : {1, 2, 8, 9}) {
        CAPTURE(rows);
        Buffer in = random_buffer(act, {rows, c.k}, 4), out(act, {rows, c.n}),
               logits(DType::f32, {rows, c.n});
        bench.run(Linear{
            .in = in.view(), .weight = weight.view(), .bias = bias.view(), .out = out.tensor()});
        const auto k = static_cast<std::size_t>(c.k), n = static_cast<std::size_t>(c.n),
                   m = static_cast<std::size_t>(rows);
        check_close("linear", out,
                    reference::linear(in.values(), weight.values(), bias.values(), k), act);
        bench.run(Logits{.in = in.view(), .weight = table.view(), .out = logits.tensor()});
        check_close(
            "logits", logits,
            reference::product(in.values(), reference::transposed(table.values(), n, k), m, k, n),
            DType::f32);
        if (rows > 8 || subject.options.accelerator) continue;  // other products
        const Values all = in.values();
        Buffer last = Buffer::of(act, {1, c.k}, Values(all.end() - c.k, all.end()));
        Buffer one(act, {1, c.n}), logits_of_one(DType::f32, {1, c.n});
        bench.run(Linear{
            .in = last.view(), .weight = weight.view(), .bias = bias.view(), .out = one.tensor()});
        CHECK(out.bits().ends_with(one.bits()));
        bench.run(Logits{.in = last.view(), .weight = table.view(), .out = logits_of_one.tensor()});
        CHECK(logits.bits().ends_with(logits_of_one.bits()));
      }
    }
  });
}

}  // namespace
}  // namespace ds::conformance
