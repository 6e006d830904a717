// Tests our own attention kernels, forward and backward, on the emulation against the
// double-precision reference: odd lengths, head sizes, groups, masks, other keys, bias, dropout;
// and equal bits for every order of threads.
#include "reference/attention.h"

#include <cuda_emulation.h>
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "engine/device/cuda/check.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"
#include "reference/dropout.h"

namespace ds::cuda {

// Replaces error handling of engine/device/cuda, which is not linked.
void raise(cudaError_t status, std::string_view what) {
  throw Error(ErrorKind::system, fmt::format("{}: {}", what, static_cast<int>(status)));
}

namespace {

using reference::Index;
using reference::Values;

/// Device memory of one type, which the emulation's host may access.
class Memory {
 public:
  Memory(DType type, std::size_t count) : type_(type), count_(count) {
    REQUIRE(cudaMalloc(&data_, bytes() + 64) == cudaSuccess);
    std::memset(data_, 0xFF, bytes() + 64);
  }
  Memory(DType type, const Values& values) : Memory(type, values.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
      const auto x = static_cast<float>(values[i]);
      const std::uint16_t half = type == DType::bf16 ? bf16_from_float(x) : f16_from_float(x);
      std::memcpy(at(i), type == DType::f32 ? static_cast<const void*>(&x) : &half, size());
    }
  }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] Values values() const {
    Values out(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      float x = 0;
      std::uint16_t half = 0;
      std::memcpy(type_ == DType::f32 ? static_cast<void*>(&x) : &half, at(i), size());
      if (type_ != DType::f32) {
        x = type_ == DType::bf16 ? float_from_bf16(half) : float_from_f16(half);
      }
      out[i] = static_cast<double>(x);
    }
    return out;
  }
  [[nodiscard]] std::string bits() const { return {static_cast<const char*>(data_), bytes()}; }
  [[nodiscard]] bool guarded() const {  // nothing was written beyond the end
    const auto* end = static_cast<const unsigned char*>(data_) + bytes();
    for (int i = 0; i < 64; ++i) {
      if (end[i] != 0xFF) return false;
    }
    return true;
  }
  [[nodiscard]] Tensor tensor(Shape shape) const { return {data_, type_, shape}; }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(size_of(type_)); }
  [[nodiscard]] std::size_t bytes() const { return count_ * size(); }
  [[nodiscard]] void* at(std::size_t i) const { return static_cast<char*>(data_) + i * size(); }

  void* data_ = nullptr;
  DType type_;
  std::size_t count_;
};

Values random_values(std::size_t n, std::uint64_t seed, double scale = 1) {
  Values values(n);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (double& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = scale * (static_cast<double>(state >> 11) * 0x1p-52 - 1);
  }
  return values;
}

struct Case {
  std::int64_t batch, heads, kv_heads, time, depth;
  bool causal = true, documents = false, bias = false, dropout = false;
  std::int64_t keys = 0, window = 0;  // keys: of another sequence; 0: the queries' own

  [[nodiscard]] std::int64_t key_len() const { return keys == 0 ? time : keys; }
};

/// Returns the documents of a sequence: in sequence 1 all padding, in 2 one document, else
/// documents of a third of the positions and a bit, with padding at the end.
std::vector<std::int32_t> documents_of(std::int64_t sequence, std::int64_t count) {
  std::vector<std::int32_t> numbers;
  for (std::int64_t t = 0; t < count; ++t) {
    const auto third = static_cast<std::int32_t>(3 * t / (count + 2));
    const bool padding = t > 4 && t + 3 > count;
    numbers.push_back(sequence == 1 ? -1 : sequence == 2 ? 0 : padding ? -1 : third);
  }
  return numbers;
}

/// Same as conformance's table, for one type.
double tolerance(DType act) {
  return act == DType::f32 ? 2e-5 : act == DType::bf16 ? 6e-3 : 6e-3 / 8;
}

void check_close(const char* what, const Values& got, const Values& want, DType act) {
  CAPTURE(what);
  REQUIRE(got.size() == want.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  const double error = norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
  CHECK(std::isfinite(error));
  CHECK(error <= tolerance(act));
}

/// One attention with all its memory.
class Subject {
 public:
  Subject(const Case& c, DType act)
      : c_(c),
        act_(act),
        shape_{u(c.batch), u(c.heads), u(c.time), u(c.depth), u(c.kv_heads), u(c.keys)},
        rows_(act, random_values(shape_.elements(), 1, 2)),
        dout_(act, random_values(u(c.batch * c.time * c.heads * c.depth), 2)),
        out_(act, u(c.batch * c.time * c.heads * c.depth)),
        lse_(DType::f32, u(c.batch * c.heads * c.time)),
        dqkv_(act, shape_.elements()),
        bias_(DType::f32, random_values(u(c.heads) * shape_.distances(), 3)),
        dbias_(DType::f32, u(c.heads) * shape_.distances()) {
    std::vector<std::int32_t> queries, keys;
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (const std::int32_t number : documents_of(b, c.time)) queries.push_back(number);
      for (const std::int32_t number : documents_of(b, c.keys)) keys.push_back(number);
      samples_.push_back(0x500000003 + 7 * b);
    }
    mask_.causal = c.causal;
    mask_.window = c.window;
    if (c.documents) mask_.ranges = reference::key_ranges(queries, keys, u(c.batch));
    if (c.bias) mask_.bias = bias_.values();
    if (c.dropout) factors_ = reference::attention_factors(kNumbers, shape_, samples_);
    context_.facts.compute_major = 9;
    context_.attention = make_attention(context_);
    const std::size_t bytes = attention_scratch_bytes({.micro = c.batch,
                                                       .seq_len = c.time,
                                                       .width = c.heads * c.depth,
                                                       .heads = c.heads,
                                                       .kv_heads = c.kv_heads,
                                                       .head_size = c.depth,
                                                       .key_len = c.keys,
                                                       .act = act});
    workspace_ = std::make_unique<Memory>(DType::u8, bytes);
    context_.workspace = static_cast<std::byte*>(workspace_->tensor({}).data);
    context_.workspace_bytes = bytes;
  }

  void run() {
    const std::int64_t rows = c_.batch * c_.time, width = c_.heads * c_.depth;
    const std::int64_t of_keys = 2 * c_.kv_heads * c_.depth;
    Attention forward{.qkv = rows_.tensor(heads_shape()),
                      .out = out_.tensor({rows, width}),
                      .lse = lse_.tensor({c_.batch, c_.heads, c_.time}),
                      .kv_heads = c_.kv_heads,
                      .causal = c_.causal,
                      .window = c_.window};
    AttentionBackward backward{.qkv = forward.qkv,
                               .out = forward.out,
                               .lse = forward.lse,
                               .dout = dout_.tensor(forward.out.shape),
                               .dqkv = dqkv_.tensor({rows, width + (c_.keys == 0 ? of_keys : 0)}),
                               .kv_heads = c_.kv_heads,
                               .causal = c_.causal,
                               .window = c_.window};
    if (c_.keys != 0) {
      const auto at_keys = [&](Memory& memory) {
        return static_cast<char*>(memory.tensor({}).data) + rows * width * size_of(act_);
      };
      forward.kv =
          backward.kv = {at_keys(rows_), act_, {1, c_.batch, 2 * c_.kv_heads, c_.keys, c_.depth}};
      backward.dkv = {at_keys(dqkv_), act_, {c_.batch * c_.keys, of_keys}};
    }
    if (c_.documents) {
      forward.ranges = backward.ranges = {mask_.ranges.data(), DType::i32, {c_.batch, c_.time, 2}};
    }
    if (c_.bias) {
      forward.bias = backward.bias = bias_.tensor({c_.heads, c_.time + c_.key_len() - 1});
      backward.dbias = dbias_.tensor({c_.heads, c_.time + c_.key_len() - 1});
    }
    if (c_.dropout) {
      forward.dropout = {.samples = {samples_.data(), DType::i64, {c_.batch}},
                         .rate = static_cast<float>(kNumbers.rate),
                         .seed = kNumbers.seed,
                         .key = kNumbers.key,
                         .step = kNumbers.step};
      backward.dropout = forward.dropout;
    }
    cuda::run(context_, forward, nullptr);
    cuda::run(context_, backward, nullptr);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(emulation::fault().empty());
    CHECK((out_.guarded() && lse_.guarded() && dqkv_.guarded() && dbias_.guarded() &&
           workspace_->guarded()));
  }

  void check() {
    const Values qkv = reference::heads_of_rows(rows_.values(), shape_);
    const reference::AttentionResult want = reference::attention(qkv, shape_, factors_, mask_);
    check_close("out", out_.values(), want.out, act_);
    check_close("lse", lse_.values(), want.lse, DType::f32);
    Values dbias;
    const Values dqkv = reference::attention_backward(qkv, dout_.values(), shape_, factors_, mask_,
                                                      c_.bias ? &dbias : nullptr);
    check_close("dqkv", dqkv_.values(), dqkv, act_);
    if (c_.bias) check_close("dbias", dbias_.values(), dbias, act_);
  }

  [[nodiscard]] std::string bits() const {
    return out_.bits() + lse_.bits() + dqkv_.bits() + (c_.bias ? dbias_.bits() : "");
  }
  [[nodiscard]] std::vector<std::string> implementations() const {
    return context_.attention->implementations();
  }

 private:
  static constexpr reference::DropoutNumbers kNumbers{
      .seed = 0x123456789ABCDEF0U, .key = 0xFEDCBA9876543210U, .step = 0x300000007U, .rate = 0.25};
  static std::size_t u(std::int64_t x) { return static_cast<std::size_t>(x); }
  [[nodiscard]] Shape heads_shape() const {
    if (c_.keys != 0) return {1, c_.batch, c_.heads, c_.time, c_.depth};
    if (c_.heads == c_.kv_heads) return {3, c_.batch, c_.heads, c_.time, c_.depth};
    return {1, c_.batch, c_.heads + 2 * c_.kv_heads, c_.time, c_.depth};
  }

  Case c_;
  DType act_;
  reference::AttentionShape shape_;
  Memory rows_, dout_, out_, lse_, dqkv_, bias_, dbias_;
  std::vector<std::int64_t> samples_;
  reference::AttentionMask mask_;
  Values factors_;
  Context context_;
  std::unique_ptr<Memory> workspace_;
};

constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16};

void check_case(const Case& c, DType act) {
  CAPTURE(name_of(act));
  CAPTURE(c.time);
  CAPTURE(c.depth);
  CAPTURE(c.bias);
  CAPTURE(c.dropout);
  Subject subject(c, act);
  subject.run();
  subject.check();
}

}  // namespace

TEST_CASE("attention on CUDA: every length around a tile's edge, in every type") {
  for (const DType act : kTypes) {
    for (const std::int64_t time : {1, 3, 63, 64, 65, 130}) {
      check_case({1, 2, 2, time, 16}, act);
    }
  }
}

TEST_CASE("attention on CUDA: head sizes, also not multiples of 16 bytes") {
  for (const DType act : kTypes) {
    for (const std::int64_t depth : {5, 8, 64, 72, 128, 136}) {
      check_case({1, 2, 1, 65, depth}, act);
    }
  }
}

TEST_CASE("attention on CUDA: windows smaller and larger than a tile, alone and in documents") {
  for (const DType act : kTypes) {
    for (const std::int64_t window : {1, 20, 90, 200}) {
      check_case(
          {.batch = 1, .heads = 2, .kv_heads = 1, .time = 150, .depth = 16, .window = window}, act);
    }
    check_case({1, 2, 2, 130, 16, false, false, true, false, 0, 30}, act);
    check_case({3, 2, 1, 150, 16, true, true, false, true, 0, 33}, act);
  }
}

TEST_CASE("attention on CUDA: keys of another sequence, more and fewer than queries") {
  for (const DType act : kTypes) {
    check_case({1, 2, 2, 67, 16, false, false, false, false, 131}, act);
    check_case({2, 4, 2, 131, 16, false, false, true, true, 33}, act);
    check_case({1, 2, 1, 129, 5, true, false, true, false, 65}, act);
    check_case({3, 4, 2, 70, 16, false, true, true, true, 150}, act);
    check_case({2, 4, 1, 1, 64, false, true, true, false, 140}, act);
    check_case({1, 2, 2, 71, 136, true, false, false, false, 100, 9}, act);
  }
}

TEST_CASE("attention on CUDA: groups, documents, bias and dropout, alone and together") {
  for (const DType act : kTypes) {
    check_case({3, 4, 2, 70, 24, false, true}, act);
    check_case({2, 4, 1, 70, 16, true, false, true}, act);
    check_case({2, 2, 2, 70, 16, false, false, false, true}, act);
    check_case({3, 4, 2, 67, 16, true, true, true, true}, act);
  }
}

TEST_CASE("attention on CUDA: the same bits for any order of threads, blocks and queues") {
  for (const DType act : kTypes) {
    std::string first;
    for (const std::uint64_t seed : {1, 2, 3}) {
      emulation::Knobs knobs = emulation::knobs();
      knobs.seed = seed;
      emulation::set_knobs(knobs);
      Subject subject({3, 4, 2, 67, 16, true, true, true, true, 100, 50}, act);
      subject.run();
      if (first.empty()) first = subject.bits();
      CHECK((subject.bits() == first));
    }
  }
}

}  // namespace ds::cuda
