// Tests norms, embeddings, activations, rotary embedding and relative bias of the CUDA backend
// against the CPU's, for widths of one warp, several, many, and odd ones; and equal bits for every
// order of work.
#include "conformance/harness.h"
#include "cuda_bench.h"

namespace ds::conformance {
namespace {

Options cpu() { return {.threads = 2}; }

/// Unshifted ways must give equal bits. A shift changes how rows are read, and so their sums.
constexpr CudaOptions kWays[] = {{.multiprocessors = 3, .seed = 1, .shift = 0},
                                 {.multiprocessors = 1, .seed = 7, .shift = 0},
                                 {.multiprocessors = 8, .seed = 99, .shift = 0},
                                 {.multiprocessors = 2, .seed = 5, .shift = 1}};

struct Grid {
  std::int64_t rows, width;
};

Kernels::Extents extents_of(const Grid& g, DType act) {
  return {.micro = 1, .seq_len = g.rows, .width = g.width, .ffn = g.width, .act = act};
}

/// Moves the buffers, because a copy of a Buffer has its data at another offset.
template <class... Buffers>
std::vector<Buffer> buffers(Buffers... all) {
  std::vector<Buffer> list;
  list.reserve(sizeof...(all));
  (list.push_back(std::move(all)), ...);
  return list;
}

/// Runs `op_of(outs)` in every way on the emulated device. Results must be close to `want`, and all
/// aligned ways must have the same bits. `make` creates new results.
template <class Make, class OpOf>
void compare_with(const std::vector<Values>& want, const Kernels::Extents& extents, DType act,
                  Make make, OpOf op_of) {
  std::vector<Buffer> first;
  for (const CudaOptions& way : kWays) {
    CAPTURE(way.seed);
    CudaBench cuda(extents, way);
    std::vector<Buffer> got = make();
    cuda.run(op_of(got));
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      const DType type = got[i].tensor().dtype;
      check_close("result", got[i], want[i], type == DType::f32 ? DType::f32 : act);
      if (!first.empty() && way.shift == 0) CHECK(got[i].bits() == first[i].bits());
    }
    if (first.empty()) first = std::move(got);
  }
}

/// The same, where the results that are wanted are those of the CPU's kernels.
template <class Make, class OpOf>
void compare(const Kernels::Extents& extents, DType act, Make make, OpOf op_of) {
  Bench bench(cpu(), extents);
  std::vector<Buffer> made = make();
  bench.run(op_of(made));
  std::vector<Values> want;
  for (Buffer& buffer : made) want.push_back(buffer.values());
  compare_with(want, extents, act, make, op_of);
}

// Elements of one thread; of a warp; of several warps and some more; more rows than one block
// processes; widths for which a block has too few threads for eight elements each, or for a row;
// odd ones.
constexpr Grid kGrids[] = {{5, 8},     {33, 96},   {70, 7},    {3, 768},  {9, 1600},
                           {37, 1000}, {2, 4104},  {2, 8192},  {3, 8211}, {1100, 24},
                           {1, 16384}, {17000, 4}, {2, 16389}, {3, 5001}};

}  // namespace

TEST_CASE("norms: forward with and without a residual") {
  for (const DType act : kActTypes) {
    for (const Grid& g : kGrids) {
      if (g.rows > 2000) continue;
      CAPTURE(g.width);
      Buffer in = random_buffer(act, {g.rows, g.width}, 1, 3),
             delta = random_buffer(act, {g.rows, g.width}, 2),
             weight = random_buffer(act, {g.width}, 3), bias = random_buffer(act, {g.width}, 4);
      const Shape shape{g.rows, g.width};
      const auto make = [&] {
        return buffers(Buffer(act, shape), random_buffer(act, shape, 9),
                       Buffer(DType::f32, {g.rows}), random_buffer(DType::f32, {g.rows}, 9));
      };
      for (const bool residual : {true, false}) {
        const ConstTensor more = residual ? delta.view() : ConstTensor{};
        compare(extents_of(g, act), act, make, [&](std::vector<Buffer>& r) {
          return LayerNorm{.in = in.view(),
                           .delta = more,
                           .weight = weight.view(),
                           .bias = bias.view(),
                           .sum = residual ? r[1].tensor() : Tensor{},
                           .out = r[0].tensor(),
                           .mean = r[2].tensor(),
                           .rstd = r[3].tensor()};
        });
        compare(extents_of(g, act), act, make, [&](std::vector<Buffer>& r) {
          return RmsNorm{.in = in.view(),
                         .delta = more,
                         .weight = weight.view(),
                         .sum = residual ? r[1].tensor() : Tensor{},
                         .out = r[0].tensor(),
                         .rstd = r[2].tensor()};
        });
      }
    }
  }
}

TEST_CASE("norms: gradients, in place of the residual's and beside it, accumulated or not") {
  for (const DType act : kActTypes) {
    for (const Grid& g : kGrids) {
      if (act != DType::bf16 && (g.rows > 1000 || g.width > 8192)) continue;  // saves time
      CAPTURE(g.width);
      Bench bench(cpu(), extents_of(g, act));
      const Shape shape{g.rows, g.width};
      Buffer in = random_buffer(act, shape, 1, 3), dout = random_buffer(act, shape, 2),
             weight = random_buffer(act, {g.width}, 3), bias = random_buffer(act, {g.width}, 4),
             out(act, shape), mean(DType::f32, {g.rows}), rstd(DType::f32, {g.rows});
      bench.run(LayerNorm{.in = in.view(),
                          .weight = weight.view(),
                          .bias = bias.view(),
                          .out = out.tensor(),
                          .mean = mean.tensor(),
                          .rstd = rstd.tensor()});
      const auto make = [&] {
        return buffers(random_buffer(act, shape, 9), random_buffer(DType::f32, {g.width}, 5),
                       random_buffer(DType::f32, {g.width}, 6));
      };
      for (const bool both : {true, false}) {
        compare(extents_of(g, act), act, make, [&](std::vector<Buffer>& r) {
          return LayerNormBackward{.dout = dout.view(),
                                   .in = in.view(),
                                   .weight = weight.view(),
                                   .mean = mean.view(),
                                   .rstd = rstd.view(),
                                   .dresidual = both ? r[0].view() : ConstTensor{},
                                   .din = r[0].tensor(),
                                   .dweight = r[1].tensor(),
                                   .dbias = r[2].tensor(),
                                   .accumulate = both};
        });
        compare(extents_of(g, act), act, make, [&](std::vector<Buffer>& r) {
          return RmsNormBackward{.dout = dout.view(),
                                 .in = in.view(),
                                 .weight = weight.view(),
                                 .rstd = rstd.view(),
                                 .dresidual = both ? r[0].view() : ConstTensor{},
                                 .din = r[0].tensor(),
                                 .dweight = r[1].tensor(),
                                 .accumulate = both};
        });
      }
    }
  }
}

TEST_CASE("embeddings: tokens alone or with positions, and gradients of tokens few and many") {
  struct Case {
    std::int64_t batch, time, vocab, width, distinct;
  };
  // Includes tokens with more rows than a warp processes at a time and than a block does, and keys
  // of one to three digits.
  for (const Case& e :
       {Case{4, 6, 11, 70, 5}, Case{3, 500, 300, 264, 3}, Case{2, 333, 70000, 40, 90},
        Case{1, 1, 2, 8, 1}, Case{2, 1030, 128256, 16, 2000}}) {
    CAPTURE(e.vocab);
    const std::int64_t rows = e.batch * e.time;
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < rows; ++i) {
      tokens.push_back(static_cast<std::int32_t>(i * 7919 % 1009 % e.distinct * (e.vocab - 1) /
                                                 std::max<std::int64_t>(e.distinct, 2)));
    }
    const ConstTensor ids{tokens.data(), DType::i32, {rows}};
    for (const DType act : kActTypes) {
      Buffer wte = random_buffer(act, {e.vocab, e.width}, 1);
      Buffer wpe = random_buffer(act, {e.time, e.width}, 2);
      Buffer dout = random_buffer(act, {rows, e.width}, 3);
      const Kernels::Extents extents = extents_of({rows, e.width}, act);
      std::vector<std::int32_t> numbers;
      for (std::int64_t i = 0; i < rows; ++i)
        numbers.push_back(static_cast<std::int32_t>(i * i % 37 % e.time));
      const ConstTensor given{numbers.data(), DType::i32, {rows}};
      // Positions of the data, those of the row, and none.
      for (const int positions : {2, 1, 0}) {
        const bool is_given = positions == 2;
        compare(
            extents, act,
            [&] {
              return buffers(Buffer(act, {rows, e.width}));
            },
            [&](std::vector<Buffer>& r) {
              return Embed{.tokens = ids,
                           .wte = wte.view(),
                           .wpe = positions > 0 ? wpe.view() : ConstTensor{},
                           .positions = is_given ? given : ConstTensor{},
                           .out = r[0].tensor()};
            });
        if (e.vocab > 1000 && act != DType::bf16) continue;  // large tables
        compare(
            extents, DType::f32,
            [&] {
              return buffers(random_buffer(DType::f32, {e.vocab, e.width}, 4),
                             random_buffer(DType::f32, {e.time, e.width}, 5));
            },
            [&](std::vector<Buffer>& r) {
              return EmbedBackward{.tokens = ids,
                                   .dout = dout.view(),
                                   .positions = is_given ? given : ConstTensor{},
                                   .dwte = r[0].tensor(),
                                   .dwpe = positions > 0 ? r[1].tensor() : Tensor{},
                                   .accumulate_wte = positions > 0,
                                   .accumulate_wpe = act == DType::bf16};
            });
      }
    }
  }
}

TEST_CASE("activations, gated units, sums and their gradients; in place too") {
  for (const DType act : kActTypes) {
    for (const Grid& g : {Grid{3, 16}, Grid{7, 33}, Grid{40, 520}, Grid{70, 8}}) {
      CAPTURE(g.width);
      const std::int64_t n = g.rows * g.width;
      Buffer a = random_buffer(act, {n}, 1, 6), b = random_buffer(act, {n}, 2);
      const Kernels::Extents extents = extents_of(g, act);
      const auto one = [&] { return buffers(random_buffer(act, {n}, 3, 6)); };
      for (const Activation activation : reference::kPlainActivations) {
        CAPTURE(name_of(activation));
        compare(extents, act, one, [&](std::vector<Buffer>& r) {
          return Activate{.in = a.view(), .out = r[0].tensor(), .activation = activation};
        });
        compare(extents, act, one, [&](std::vector<Buffer>& r) {
          return Activate{.in = r[0].view(), .out = r[0].tensor(), .activation = activation};
        });
        compare(extents, act, one, [&](std::vector<Buffer>& r) {
          return ActivateBackward{
              .pre = a.view(), .dout = r[0].view(), .din = r[0].tensor(), .activation = activation};
        });
      }
      compare(extents, act, one, [&](std::vector<Buffer>& r) {
        return Add{.a = r[0].view(), .b = b.view(), .out = r[0].tensor()};
      });
      Buffer gated = random_buffer(act, {g.rows, 2 * g.width}, 5, 4);
      Buffer dout = random_buffer(act, {g.rows, g.width}, 6);
      const auto wide = [&] { return buffers(random_buffer(act, {g.rows, 2 * g.width}, 8, 2)); };
      for (const std::int64_t first : {std::int64_t{0}, g.width / 8 * 8, g.width}) {
        compare(extents, act, wide, [&](std::vector<Buffer>& r) {
          return AddColumns{.in = gated.view(),
                            .parts = {{{dout.view(), first}, {}, {}}},
                            .out = r[0].tensor(),
                            .scale = 0.7F};
        });
        compare(
            extents, act,
            [&] {
              return buffers(Buffer(act, {g.rows, g.width}));
            },
            [&](std::vector<Buffer>& r) {
              return TakeColumns{
                  .in = gated.view(), .out = r[0].tensor(), .first = first, .scale = 0.7F};
            });
      }
      for (const Activation gate : reference::kGates) {
        compare(
            extents, act,
            [&] {
              return buffers(Buffer(act, {g.rows, g.width}));
            },
            [&](std::vector<Buffer>& r) {
              return Glu{.in = gated.view(), .out = r[0].tensor(), .activation = gate};
            });
        compare(
            extents, act,
            [&] {
              return buffers(random_buffer(act, {g.rows, 2 * g.width}, 7, 4));
            },
            [&](std::vector<Buffer>& r) {
              return GluBackward{
                  .in = r[0].view(), .dout = dout.view(), .din = r[0].tensor(), .activation = gate};
            });
      }
    }
  }
}

TEST_CASE("rotary embedding of rows: both directions, in place and not") {
  struct RowHeads {
    std::int64_t batch, heads, groups, time, depth;
  };
  for (const RowHeads& h :
       {RowHeads{2, 4, 2, 33, 16}, RowHeads{1, 6, 1, 70, 24}, RowHeads{3, 2, 2, 5, 6},
        RowHeads{1, 3, 3, 9, 128}, RowHeads{1, 1, 1, 3000, 8}}) {
    CAPTURE(h.depth);
    const std::int64_t columns = (h.heads + 2 * h.groups) * h.depth;
    const Shape shape{h.batch * h.time, columns};
    const Kernels::Extents extents{.micro = h.batch,
                                   .seq_len = h.time,
                                   .width = h.heads * h.depth,
                                   .heads = h.heads,
                                   .kv_heads = h.groups};
    for (const DType act : kActTypes) {
      Buffer in = random_buffer(act, shape, 1);
      std::vector<std::int32_t> positions;
      for (std::int64_t i = 0; i < h.batch * h.time; ++i)
        positions.push_back(static_cast<std::int32_t>(i * i % 59));
      const ConstTensor given{positions.data(), DType::i32, {h.batch * h.time}};
      for (const auto& [inverse, is_given] :
           {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
        compare(
            extents, act, [&] { return buffers(random_buffer(act, shape, 2)); },
            [&, inverse = inverse, is_given = is_given](std::vector<Buffer>& r) {
              return Rotary{.in = inverse ? r[0].view() : in.view(),
                            .positions = is_given ? given : ConstTensor{},
                            .out = r[0].tensor(),
                            .seq_len = h.time,
                            .heads = h.heads,
                            .kv_heads = h.groups,
                            .theta = 500000.0F,
                            .inverse = inverse,
                            .rows = true};
            });
      }
    }
  }
}

TEST_CASE("norms of heads and their gradients: vectors or not, in place and beside it") {
  struct Case {
    std::int64_t batch, heads, groups, time, depth;
    [[nodiscard]] reference::AttentionShape reference() const {
      const auto index = [](std::int64_t n) { return static_cast<reference::Index>(n); };
      return {index(batch), index(heads), index(time), index(depth), index(groups)};
    }
  };
  for (const Case& h :
       {Case{2, 4, 2, 33, 16}, Case{1, 6, 1, 70, 24}, Case{3, 2, 2, 5, 6}, Case{1, 3, 3, 9, 128},
        Case{1, 2, 1, 40, 512}, Case{1, 2, 1, 3, 7}, Case{1, 1, 1, 3000, 8}}) {
    CAPTURE(h.depth);
    const bool alike = h.heads == h.groups;
    const std::int64_t all = h.heads + 2 * h.groups, kv_heads = alike ? 0 : h.groups;
    const Shape shape = alike ? Shape{3, h.batch, h.heads, h.time, h.depth}
                              : Shape{1, h.batch, all, h.time, h.depth};
    const Shape rows{h.batch * h.time, all * h.depth}, weights{h.depth};
    const Kernels::Extents extents{.micro = h.batch,
                                   .seq_len = h.time,
                                   .width = h.heads * h.depth,
                                   .heads = h.heads,
                                   .kv_heads = h.groups};
    for (const DType act : kActTypes) {
      Buffer in = random_buffer(act, shape, 1, 3), q_weight = random_buffer(act, weights, 2),
             k_weight = random_buffer(act, weights, 3), dout = random_buffer(act, rows, 4);
      // The device has heads in rows, the oracle by head.
      const reference::AttentionShape s = h.reference();
      const double eps = static_cast<double>(HeadNorm{}.eps);
      const auto by_head = [&](Buffer& buffer) {
        return reference::heads_of_rows(buffer.values(), s);
      };
      for (const bool in_place : {false, true}) {
        Buffer other = random_buffer(act, shape, 5);
        const Values out = reference::head_norm(by_head(in_place ? other : in), s,
                                                q_weight.values(), k_weight.values(), eps);
        compare_with(
            {reference::rows_of_heads(out, s)}, extents, act,
            [&] { return buffers(random_buffer(act, shape, 5)); },
            [&](std::vector<Buffer>& r) {
              return HeadNorm{.in = in_place ? r[0].view() : in.view(),
                              .q_weight = q_weight.view(),
                              .k_weight = k_weight.view(),
                              .out = r[0].tensor(),
                              .heads = h.heads,
                              .kv_heads = kv_heads};
            });
        const auto make = [&] {
          return buffers(random_buffer(act, rows, 6), random_buffer(DType::f32, weights, 7),
                         random_buffer(DType::f32, weights, 8));
        };
        std::vector<Buffer> before = make();
        reference::HeadNormGradient g =
            reference::head_norm_backward((in_place ? before[0] : dout).values(), by_head(in), s,
                                          q_weight.values(), k_weight.values(), eps);
        for (std::size_t i = 0; in_place && i < g.dq_weight.size(); ++i) {
          g.dq_weight[i] += before[1].values()[i];
          g.dk_weight[i] += before[2].values()[i];
        }
        compare_with({g.din, g.dq_weight, g.dk_weight}, extents, act, make,
                     [&](std::vector<Buffer>& r) {
                       return HeadNormBackward{.dout = in_place ? r[0].view() : dout.view(),
                                               .in = in.view(),
                                               .q_weight = q_weight.view(),
                                               .k_weight = k_weight.view(),
                                               .din = r[0].tensor(),
                                               .dq_weight = r[1].tensor(),
                                               .dk_weight = r[2].tensor(),
                                               .heads = h.heads,
                                               .kv_heads = kv_heads,
                                               .accumulate = in_place};
                     });
      }
    }
  }
}

TEST_CASE("relative bias and its table's gradient: both directions, few and many buckets") {
  struct Table {
    std::int64_t buckets, heads, time, max_distance, keys = 0;  // keys = 0: as many as queries
    std::int32_t first = 0;
  };
  for (const Table& t : {Table{32, 3, 200, 128}, Table{8, 2, 5, 16}, Table{33, 1, 300, 60},
                         Table{16, 4, 130, 1000}, Table{2, 1, 3, 4}, Table{32, 2, 70, 128, 200},
                         Table{32, 2, 90, 40, 11}, Table{32, 2, 1, 128, 150, 120}}) {
    CAPTURE(t.buckets);
    for (const bool bidirectional : {true, false}) {
      if (bidirectional && t.buckets < 4) continue;
      Buffer table = random_buffer(DType::bf16, {t.buckets, t.heads}, 1);
      const Shape shape{t.heads, t.time + (t.keys == 0 ? t.time : t.keys) - 1};
      const std::int64_t queries = t.keys == 0 ? 0 : t.time;
      Buffer dout = random_buffer(DType::f32, shape, 2);
      compare(
          {}, DType::bf16, [&] { return buffers(Buffer(DType::f32, shape)); },
          [&](std::vector<Buffer>& r) {
            return RelativeBias{.table = table.view(),
                                .first = {&t.first, DType::i32, {1}},
                                .out = r[0].tensor(),
                                .queries = queries,
                                .max_distance = t.max_distance,
                                .bidirectional = bidirectional};
          });
      compare(
          {}, DType::f32,
          [&] {
            return buffers(random_buffer(DType::f32, {t.buckets, t.heads}, 3));
          },
          [&](std::vector<Buffer>& r) {
            return RelativeBiasBackward{.dout = dout.view(),
                                        .dtable = r[0].tensor(),
                                        .queries = queries,
                                        .max_distance = t.max_distance,
                                        .bidirectional = bidirectional,
                                        .accumulate = bidirectional};
          });
    }
  }
}

}  // namespace ds::conformance
