// Tests the cache of keys and values of the CUDA backend, whose heads lie in rows: exact copies, in
// every order of work.
#include "conformance/harness.h"
#include "cuda_bench.h"

namespace ds::conformance {
namespace {

struct Case {
  std::int64_t batch, heads, groups, time, room, depth;
};

TEST_CASE("rows of keys and values go to their slots, queries to a tensor of their own") {
  for (const Case& c : {Case{1, 4, 4, 1, 7, 64}, Case{3, 4, 2, 5, 9, 16}, Case{2, 6, 1, 33, 40, 6},
                        Case{2, 1, 1, 3, 3, 1}}) {
    CAPTURE(c.depth);
    const std::int64_t rows = c.batch * c.time, q = c.heads * c.depth, kv = 2 * c.groups * c.depth;
    const bool alike = c.heads == c.groups;
    const Shape from = alike ? Shape{3, c.batch, c.heads, c.time, c.depth}
                             : Shape{1, c.batch, c.heads + 2 * c.groups, c.time, c.depth};
    std::vector<std::int32_t> slots;
    for (std::int64_t i = 0; i < rows; ++i)
      slots.push_back(i % 3 == 1 ? -1 : static_cast<std::int32_t>(c.room - 1 - i % c.time));
    for (const DType act : kActTypes) {
      Buffer qkv = random_buffer(act, from, 1);
      const Values in = qkv.values();
      for (const CudaOptions& way : {CudaOptions{.multiprocessors = 3, .seed = 1, .shift = 0},
                                     {.multiprocessors = 1, .seed = 7, .shift = 1}}) {
        Buffer cache = random_buffer(act, {1, c.batch, 2 * c.groups, c.room, c.depth}, 2);
        Buffer queries(act, {1, c.batch, c.heads, c.time, c.depth});
        Values want = cache.values(), want_queries;
        for (std::int64_t r = 0; r < rows; ++r) {
          const auto row = in.begin() + r * (q + kv);
          want_queries.insert(want_queries.end(), row, row + q);
          const std::int32_t slot = slots[static_cast<std::size_t>(r)];
          if (slot >= 0)
            std::copy(row + q, row + q + kv, want.begin() + (r / c.time * c.room + slot) * kv);
        }
        CudaBench cuda(std::size_t{0}, way);
        cuda.run(CacheKeys{.qkv = qkv.view(),
                           .slots = {slots.data(), DType::i32, {rows}},
                           .queries = queries.tensor(),
                           .cache = cache.tensor(),
                           .kv_heads = alike ? 0 : c.groups});
        CHECK((cache.values() == want));
        CHECK((queries.values() == want_queries));
      }
    }
  }
}

}  // namespace
}  // namespace ds::conformance
