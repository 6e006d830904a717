// Tests that steady operations allocate nothing of ours, by counting every operator new of the
// process while an op runs.
#include <atomic>
#include <cstdlib>
#include <new>

#include "conformance/harness.h"

namespace {

std::atomic<bool> armed{false};
std::atomic<std::int64_t> allocations{0}, live{0};
std::atomic<std::size_t> largest{0};

void* counted(std::size_t bytes) {
  if (armed.load(std::memory_order_relaxed)) {
    allocations.fetch_add(1);
    live.fetch_add(1);
    std::size_t seen = largest.load();
    while (bytes > seen && !largest.compare_exchange_weak(seen, bytes)) {
    }
  }
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

void released(void* memory) {
  if (memory != nullptr && armed.load(std::memory_order_relaxed)) live.fetch_sub(1);
  std::free(memory);
}

}  // namespace

// Replaces operator new for the whole process, oneDNN included.
void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { released(memory); }
void operator delete[](void* memory) noexcept { released(memory); }
void operator delete(void* memory, std::size_t) noexcept { released(memory); }
void operator delete[](void* memory, std::size_t) noexcept { released(memory); }

namespace ds::conformance {
namespace {

struct Counts {
  std::int64_t allocations, live;
  std::size_t largest;
};

/// Returns the allocations of an op's third run; the first two may create primitives.
template <class Op>
Counts steady(Bench& bench, const Op& op) {
  bench.run(op);
  bench.run(op);
  allocations = 0;
  live = 0;
  largest = 0;
  armed = true;
  bench.run(op);
  armed = false;
  return {allocations, live, largest};
}

template <class Op>
void check_own_loops(const char* name, Bench& bench, const Op& op) {
  CAPTURE(name);
  CHECK(steady(bench, op).allocations == 0);
}

/// oneDNN makes small allocations in each execution (its argument list). None may remain, and none
/// may be large.
template <class Op>
void check_products(const char* name, Bench& bench, const Op& op) {
  CAPTURE(name);
  const Counts counts = steady(bench, op);
  CHECK(counts.live == 0);
  CHECK(counts.largest <= 4096);
}

}  // namespace

TEST_CASE("the counter counts") {
  armed = true;
  allocations = 0;
  auto* number = new std::int64_t(1);
  armed = false;
  CHECK(allocations == 1);
  delete number;
}

TEST_CASE("steady operations allocate nothing of ours and leak nothing") {
  for_each_subject([](const Subject& subject, DType act) {
    const std::int64_t batch = 2, heads = 2, time = 70, width = 64, vocab = 300,
                       rows = batch * time;
    Bench bench(subject.options, {.micro = batch,
                                  .seq_len = time,
                                  .width = width,
                                  .heads = heads,
                                  .ffn = 3 * width,
                                  .vocab = vocab,
                                  .chunk_rows = 50,
                                  .head_bias = true,
                                  .head_scaled = true,
                                  .act = act});
    Buffer in = random_buffer(act, {rows, width}, 1),
           weight = random_buffer(act, {width, 3 * width}, 2);
    Buffer bias = random_buffer(act, {3 * width}, 3),
           dout = random_buffer(act, {rows, 3 * width}, 4);
    Buffer qkv(act, {3, batch, heads, time, width / heads}), out(act, {rows, width});
    Buffer lse(DType::f32, {batch, heads, time}), dweight(DType::f32, {width, 3 * width});
    Buffer dbias(DType::f32, {3 * width}), table = random_buffer(act, {vocab, width}, 5);
    Buffer dtable(DType::f32, {vocab, width});
    check_products("linear", bench,
                   Linear{.in = in.view(),
                          .weight = weight.view(),
                          .bias = bias.view(),
                          .out = qkv.tensor(),
                          .epilogue = Linear::Epilogue::heads});
    check_products(
        "linear input", bench,
        LinearBackwardInput{.dout = dout.view(), .weight = weight.view(), .din = out.tensor()});
    check_products("linear weight", bench,
                   LinearBackwardWeight{.in = in.view(),
                                        .dout = dout.view(),
                                        .dweight = dweight.tensor(),
                                        .dbias = dbias.tensor()});
    check_products("attention", bench,
                   Attention{.qkv = qkv.view(), .out = out.tensor(), .lse = lse.tensor()});
    check_products("attention backward", bench,
                   AttentionBackward{.qkv = qkv.view(),
                                     .out = out.view(),
                                     .lse = lse.view(),
                                     .dout = in.view(),
                                     .dqkv = dout.tensor()});
    std::vector<std::int32_t> documents(static_cast<std::size_t>(rows)),
        ranges(2 * documents.size());
    for (std::size_t i = 0; i < documents.size(); ++i) documents[i] = i % 70 >= 30;
    const Shape heads_shape{1, batch, heads, time, width / heads};
    Buffer q = random_buffer(act, heads_shape, 8);
    Buffer kv = random_buffer(act, {1, batch, 2 * heads, time, width / heads}, 9);
    Buffer buckets = random_buffer(act, {8, heads}, 10), dbuckets(DType::f32, {8, heads});
    Buffer distances(DType::f32, {heads, 2 * time - 1}), ddistances(DType::f32, {heads, 139});
    check_own_loops("relative bias", bench,
                    RelativeBias{.table = buckets.view(), .out = distances.tensor()});
    check_own_loops("key ranges", bench,
                    KeyRanges{.documents = {documents.data(), DType::i32, {rows}},
                              .ranges = {ranges.data(), DType::i32, {batch, time, 2}}});
    const ConstTensor seen{ranges.data(), DType::i32, {batch, time, 2}};
    check_products("masked attention", bench,
                   Attention{.qkv = q.view(),
                             .kv = kv.view(),
                             .ranges = seen,
                             .bias = distances.view(),
                             .out = out.tensor(),
                             .lse = lse.tensor(),
                             .window = 20});
    Buffer dq(act, {rows, width}), dkv(act, {rows, 2 * width});
    check_products("masked attention backward", bench,
                   AttentionBackward{.qkv = q.view(),
                                     .kv = kv.view(),
                                     .ranges = seen,
                                     .bias = distances.view(),
                                     .out = out.view(),
                                     .lse = lse.view(),
                                     .dout = in.view(),
                                     .dqkv = dq.tensor(),
                                     .dkv = dkv.tensor(),
                                     .dbias = ddistances.tensor(),
                                     .window = 20});
    check_own_loops("relative bias backward", bench,
                    RelativeBiasBackward{.dout = ddistances.view(), .dtable = dbuckets.tensor()});
    check_own_loops("cache", bench,
                    CacheKeys{.qkv = qkv.view(),
                              .slots = {documents.data(), DType::i32, {rows}},
                              .queries = q.tensor(),
                              .cache = kv.tensor()});
    const ConstTensor few{in.data(), act, {3, width}};
    check_own_loops("linear of few rows", bench,
                    Linear{.in = few,
                           .weight = weight.view(),
                           .out = {out.data(), act, {3, weight.view().shape[1]}}});
    std::vector<std::int32_t> targets(static_cast<std::size_t>(rows), 7);
    const ConstTensor ids{targets.data(), DType::i32, {rows}};
    double loss = 0;
    std::int64_t count = 0;
    check_products("head", bench,
                   HeadLossBackward{.forward = {.in = in.view(),
                                                .weight = table.view(),
                                                .targets = ids,
                                                .loss = {&loss, DType::f64, {1}},
                                                .count = {&count, DType::i64, {1}},
                                                .valid_vocab = vocab,
                                                .chunk_rows = 50},
                                    .din = out.tensor(),
                                    .dweight = dtable.tensor()});
    Buffer head_bias = random_buffer(act, {vocab}, 9), dhead_bias(DType::f32, {vocab});
    std::vector<std::int32_t> some = targets;
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = i % 7 == 0 ? 7 : -100;
    check_products("head of some rows", bench,
                   HeadLossBackward{.forward = {.in = in.view(),
                                                .weight = table.view(),
                                                .targets = {some.data(), DType::i32, {rows}},
                                                .bias = head_bias.view(),
                                                .loss = {&loss, DType::f64, {1}},
                                                .count = {&count, DType::i64, {1}},
                                                .valid_vocab = vocab,
                                                .chunk_rows = 50,
                                                .scale = 0.5F},
                                    .din = out.tensor(),
                                    .dweight = dtable.tensor(),
                                    .dbias = dhead_bias.tensor()});
    for (const Activation activation : reference::kPlainActivations) {
      check_own_loops("activation", bench,
                      Activate{.in = in.view(), .out = out.tensor(), .activation = activation});
      check_own_loops(
          "activation backward", bench,
          ActivateBackward{
              .pre = in.view(), .dout = out.view(), .din = out.tensor(), .activation = activation});
    }
    check_own_loops("GELU", bench,
                    ActivateBackward{.pre = in.view(), .dout = out.view(), .din = out.tensor()});
    Buffer both = random_buffer(act, {rows, 2 * width}, 6), rstd(DType::f32, {rows});
    Buffer scale = random_buffer(act, {width}, 7), dscale(DType::f32, {width});
    check_own_loops(
        "RMS norm", bench,
        RmsNorm{
            .in = in.view(), .weight = scale.view(), .out = out.tensor(), .rstd = rstd.tensor()});
    check_own_loops("RMS norm backward", bench,
                    RmsNormBackward{.dout = in.view(),
                                    .in = in.view(),
                                    .weight = scale.view(),
                                    .rstd = rstd.view(),
                                    .din = out.tensor(),
                                    .dweight = dscale.tensor()});
    check_own_loops(
        "gated GELU", bench,
        Glu{.in = both.view(), .out = out.tensor(), .activation = Activation::gelu_tanh});
    check_own_loops("SwiGLU", bench, Glu{.in = both.view(), .out = out.tensor()});
    check_own_loops("SwiGLU backward", bench,
                    GluBackward{.in = both.view(), .dout = in.view(), .din = both.tensor()});
    std::vector<std::int32_t> positions(static_cast<std::size_t>(batch * time));
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int>(i % 3);
    check_own_loops("rotary with positions", bench,
                    Rotary{.in = qkv.view(),
                           .positions = {positions.data(), DType::i32, {batch * time}},
                           .out = qkv.tensor(),
                           .seq_len = time,
                           .heads = heads,
                           .kv_heads = heads});
    Buffer heads_out(act, qkv.view().shape), dheads(act, {rows, 3 * width}),
        head_scale = random_buffer(act, {width / heads}, 21), dq_scale(DType::f32, {width / heads}),
        dk_scale(DType::f32, {width / heads});
    check_own_loops("head norm", bench,
                    HeadNorm{.in = qkv.view(),
                             .q_weight = head_scale.view(),
                             .k_weight = head_scale.view(),
                             .out = heads_out.tensor(),
                             .heads = heads});
    check_own_loops("head norm backward", bench,
                    HeadNormBackward{.dout = dheads.view(),
                                     .in = qkv.view(),
                                     .q_weight = head_scale.view(),
                                     .k_weight = head_scale.view(),
                                     .din = dheads.tensor(),
                                     .dq_weight = dq_scale.tensor(),
                                     .dk_weight = dk_scale.tensor(),
                                     .heads = heads});
    check_own_loops("rotary", bench,
                    Rotary{.in = qkv.view(),
                           .out = qkv.tensor(),
                           .seq_len = time,
                           .heads = heads,
                           .kv_heads = heads});
    check_own_loops(
        "columns added", bench,
        AddColumns{
            .in = both.view(), .parts = {{{in.view(), width}, {}, {}}}, .out = both.tensor()});
    check_own_loops("columns taken", bench,
                    TakeColumns{.in = both.view(), .out = out.tensor(), .first = width});
    check_own_loops("add", bench, Add{.a = in.view(), .b = out.view(), .out = out.tensor()});
    Buffer w(DType::f32, {vocab, width}), m(DType::f32, {vocab, width}),
        v(DType::f32, {vocab, width});
    std::vector<std::int64_t> samples(static_cast<std::size_t>(batch), 5);
    const DropoutDraw draw{.samples = {samples.data(), DType::i64, {batch}}, .rate = 0.1F};
    check_own_loops("dropout", bench, Dropout{.in = in.view(), .draw = draw, .out = out.tensor()});
    check_products(
        "attention with dropout", bench,
        Attention{.qkv = qkv.view(), .out = out.tensor(), .lse = lse.tensor(), .dropout = draw});
    check_own_loops("normal", bench, FillNormal{.out = v.tensor()});
    const Shape leaves{(dtable.view().elements() + 1023) / 1024};
    std::vector<double> leaf_sums(static_cast<std::size_t>(leaves[0]));
    std::vector<std::int64_t> leaf_bad(leaf_sums.size());
    check_own_loops("leaf squares", bench,
                    LeafSquares{.in = dtable.view(),
                                .sums = {leaf_sums.data(), DType::f64, leaves},
                                .non_finite = {leaf_bad.data(), DType::i64, leaves}});
    check_own_loops("AdamW", bench,
                    OptimizerUpdate{.grad = dtable.view(),
                                    .master = w.tensor(),
                                    .m = m.tensor(),
                                    .v = v.tensor(),
                                    .numbers = {.lr = 1e-3F}});
  });
}

}  // namespace ds::conformance
