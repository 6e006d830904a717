// Tests of the column ops: sums into and parts of columns, in rows and in heads.
#include "reference/columns.h"

#include "conformance/harness.h"

namespace ds::conformance {
namespace {

struct ColumnCase {
  std::int64_t batch, time, heads, kv_heads, depth;  // kv_heads = 0: as many
};
constexpr ColumnCase kColumnCases[] = {
    {1, 1, 1, 0, 2}, {2, 5, 3, 0, 8}, {3, 7, 4, 2, 10}, {2, 33, 4, 1, 64}, {1, 40, 2, 1, 300}};

template <class Body>
void for_each_column_case(const Body& body) {
  for (const Subject& subject : subjects()) {
    for (const DType act : {DType::f32, DType::bf16, DType::f16}) {
      for (const ColumnCase& c : kColumnCases) {
        CAPTURE(subject.name);
        CAPTURE(static_cast<int>(act));
        CAPTURE(c.depth);
        Bench bench(subject.options, {});
        body(bench, c, act);
      }
    }
  }
}

std::int64_t groups_of(const ColumnCase& c) { return c.kv_heads == 0 ? c.heads : c.kv_heads; }

/// Returns values in rows from values in the layout of heads.
Values in_rows(const Values& heads, const ColumnCase& c) {
  const std::int64_t all = c.heads + 2 * groups_of(c), width = all * c.depth;
  Values rows(heads.size());
  for (std::int64_t h = 0; h < all; ++h) {
    const std::int64_t first = h < c.heads                  ? 0
                               : h < c.heads + groups_of(c) ? c.heads
                                                            : c.heads + groups_of(c);
    const std::int64_t together = h < c.heads ? c.heads : groups_of(c);
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (std::int64_t t = 0; t < c.time; ++t) {
        const std::int64_t place = c.batch * first + b * together + h - first;
        for (std::int64_t d = 0; d < c.depth; ++d)
          rows[static_cast<std::size_t>((b * c.time + t) * width + h * c.depth + d)] =
              heads[static_cast<std::size_t>((place * c.time + t) * c.depth + d)];
      }
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("columns: three parts are added, in rows and in heads, in place and beside") {
  for_each_column_case([](Bench& bench, const ColumnCase& c, DType act) {
    const std::int64_t rows = c.batch * c.time, queries = c.heads * c.depth;
    const std::int64_t keys = groups_of(c) * c.depth, width = queries + 2 * keys;
    const Shape heads = c.kv_heads == 0
                            ? Shape{3, c.batch, c.heads, c.time, c.depth}
                            : Shape{1, c.batch, c.heads + 2 * c.kv_heads, c.time, c.depth};
    for (const bool is_heads : {false, true}) {
      const Shape shape = is_heads ? heads : Shape{rows, width};
      Buffer in = random_buffer(act, shape, 1, 2), out(act, shape);
      Buffer q = random_buffer(act, {rows, queries}, 2), k = random_buffer(act, {rows, keys}, 3),
             v = random_buffer(act, {rows, keys}, 4);
      AddColumns op{.in = in.view(),
                    .parts = {{{q.view(), 0}, {k.view(), queries}, {v.view(), queries + keys}}},
                    .out = out.tensor(),
                    .scale = 0.75F,
                    .heads = is_heads,
                    .kv_heads = is_heads ? c.kv_heads : 0};
      Values want = is_heads ? in_rows(in.values(), c) : in.values();
      want = reference::add_columns(want, q.values(), rows, width, 0, 0.75);
      want = reference::add_columns(want, k.values(), rows, width, queries, 0.75);
      want = reference::add_columns(want, v.values(), rows, width, queries + keys, 0.75);
      const auto check = [&](const char* what, Buffer& got) {
        Buffer plain =
            Buffer::of(act, {rows, width}, is_heads ? in_rows(got.values(), c) : got.values());
        check_close(what, plain, want, act);
      };
      bench.run(op);
      check("beside", out);
      op.out = in.tensor();
      bench.run(op);
      check("in place", in);
    }
  });
}

TEST_CASE("columns: one part in the middle leaves all others their bits") {
  for_each_column_case([](Bench& bench, const ColumnCase& c, DType act) {
    const std::int64_t rows = c.batch * c.time, n = c.depth, width = 3 * c.depth;
    Buffer in = random_buffer(act, {rows, width}, 1), out(act, {rows, width});
    Buffer zero(act, {rows, n});
    zero = Buffer::of(act, {rows, n}, Values(static_cast<std::size_t>(rows * n), 0.0));
    bench.run(AddColumns{
        .in = in.view(), .parts = {{{zero.view(), n}, {}, {}}}, .out = out.tensor(), .scale = 3});
    CHECK(out.bits() == in.bits());
  });
}

TEST_CASE("columns: parts are taken") {
  for_each_column_case([](Bench& bench, const ColumnCase& c, DType act) {
    const std::int64_t rows = c.batch * c.time, n = c.depth, width = 3 * c.depth + 1;
    Buffer in = random_buffer(act, {rows, width}, 1), out(act, {rows, n});
    for (const std::int64_t first : {std::int64_t{0}, n, 2 * n + 1}) {
      bench.run(TakeColumns{.in = in.view(), .out = out.tensor(), .first = first, .scale = -1.5F});
      check_close("taken", out, reference::take_columns(in.values(), rows, width, first, n, -1.5),
                  act);
    }
  });
}

}  // namespace ds::conformance
