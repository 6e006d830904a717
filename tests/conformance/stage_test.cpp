// Tests of Stage: it detects writes beside tensors and into inputs, and permutes heads.
#include "conformance/stage.h"

#include "conformance/harness.h"

namespace ds::conformance {
namespace {

struct Fixture {
  Backend backend = make_cpu_backend({.threads = 1});
  std::unique_ptr<Stream> stream = backend.device->make_stream();
  Stage stage{*backend.device, *stream, HeadsLayout::by_head};
  Buffer a = random_buffer(DType::f32, {33}, 1), b = random_buffer(DType::f32, {33}, 2);
  Buffer out{DType::f32, {33}};
  std::int64_t bad = 7;
  double sum = 0;
};

float* floats(const void* data) { return static_cast<float*>(const_cast<void*>(data)); }

}  // namespace

TEST_CASE_FIXTURE(Fixture, "stage: results come back, in place and through slices of one buffer") {
  const auto add = [&](const Add& op) { backend.kernels->run(op, *stream); };
  CHECK(stage.run(Add{.a = a.view(), .b = b.view(), .out = out.tensor()}, add).empty());
  Values want = a.values();
  const Values more = b.values();
  for (std::size_t i = 0; i < want.size(); ++i) {
    want[i] = static_cast<double>(static_cast<float>(want[i]) + static_cast<float>(more[i]));
  }
  CHECK(out.values() == want);
  CHECK(stage.run(Add{.a = a.view(), .b = b.view(), .out = a.tensor()}, add).empty());
  CHECK(a.values() == want);
  const ConstTensor head{b.data(), DType::f32, {10}}, tail{b.data() + 40, DType::f32, {10}};
  const Tensor into{out.data(), DType::f32, {10}};
  CHECK(stage.run(Add{.a = head, .b = tail, .out = into}, add).empty());
  CHECK(out.values()[9] ==
        static_cast<double>(static_cast<float>(more[9]) + static_cast<float>(more[19])));
  CHECK(out.values()[10] == want[10]);
}

TEST_CASE_FIXTURE(Fixture, "stage: a read beside a tensor gives NaN") {
  bool nan = false;
  CHECK(stage
            .run(Add{.a = a.view(), .b = b.view(), .out = out.tensor()},
                 [&](const Add& op) {
                   nan = std::isnan(floats(op.a.data)[33]) && std::isnan(floats(op.a.data)[-1]) &&
                         std::isnan(floats(op.out.data)[0]);
                 })
            .empty());
  CHECK(nan);
}

TEST_CASE_FIXTURE(Fixture, "stage: a write beside a result or into an input is reported") {
  const Add op{.a = a.view(), .b = b.view(), .out = out.tensor()};
  for (const int at : {-1, 33, -1024, 1023}) {
    CAPTURE(at);
    const std::string wrong =
        stage.run(op, [&](const Add& here) { floats(here.out.data)[at] = 1; });
    CHECK(wrong.find("of device memory was written") != std::string::npos);
  }
  const std::string wrong = stage.run(op, [&](const Add& here) { floats(here.a.data)[3] = 1; });
  CHECK(wrong.find("of device memory was written") != std::string::npos);
  const LeafSquares sums{
      .in = a.view(), .sums = {&sum, DType::f64, {1}}, .non_finite = {&bad, DType::i64, {1}}};
  const std::string pinned = stage.run(
      sums, [&](const LeafSquares& here) { static_cast<double*>(here.sums.data)[1] = 1; });
  CHECK(pinned.find("of pinned memory was written") != std::string::npos);
  CHECK(stage.run(sums, [&](const LeafSquares& here) { *static_cast<double*>(here.sums.data) = 5; })
            .empty());
  CHECK(sum == 5);
  CHECK(bad == 7);
}

TEST_CASE_FIXTURE(Fixture,
                  "stage: heads by row here are by_head in the test, with fewer key heads too") {
  Stage by_row(*backend.device, *stream, HeadsLayout::by_row);
  const std::int64_t batch = 2, heads = 4, groups = 2, time = 3, depth = 5;
  const std::int64_t columns = (heads + 2 * groups) * depth;
  Buffer qkv(DType::f32, {1, batch, heads + 2 * groups, time, depth});
  // Every element holds its by_row position.
  const auto fill = [&](const Linear& op) {
    for (std::int64_t i = 0; i < batch * time * columns; ++i) {
      floats(op.out.data)[i] = static_cast<float>(i);
    }
  };
  CHECK(by_row
            .run(Linear{.in = a.view(),
                        .weight = b.view(),
                        .out = qkv.tensor(),
                        .epilogue = Linear::Epilogue::heads,
                        .kv_heads = groups},
                 fill)
            .empty());
  const Values got = qkv.values();
  std::size_t at = 0;
  bool right = true;
  for (const auto& [first, count] :
       {std::pair{std::int64_t{0}, heads}, {heads, groups}, {heads + groups, groups}}) {
    for (std::int64_t b_ = 0; b_ < batch; ++b_) {
      for (std::int64_t h = 0; h < count; ++h) {
        for (std::int64_t t = 0; t < time; ++t) {
          for (std::int64_t d = 0; d < depth; ++d) {
            const std::int64_t row = b_ * time + t;
            const double want = static_cast<double>(row * columns + (first + h) * depth + d);
            right = right && got[at++] == want;
          }
        }
      }
    }
  }
  CHECK(right);
  bool same = true;
  CHECK(by_row
            .run(
                Attention{
                    .qkv = qkv.view(), .out = out.tensor(), .lse = a.tensor(), .kv_heads = groups},
                [&](const Attention& op) {
                  for (std::int64_t i = 0; i < batch * time * columns; ++i) {
                    same = same && floats(op.qkv.data)[i] == static_cast<float>(i);
                  }
                })
            .empty());
  CHECK(same);
}

}  // namespace ds::conformance
