// Tests decoding with a cache against the whole forward pass of PyTorch: the logits at every
// position, of prompts of different lengths, read in pieces and token by token.
#include <doctest/doctest.h>

#include "engine/sample/decode_programs.h"
#include "engine/sample/decoder.h"
#include "engine/states/fill_states.h"
#include "golden/model_under_test.h"

namespace ds::golden {
namespace {

constexpr std::int64_t kPiece = 5;

class FixtureWeights final : public StateSource {
 public:
  explicit FixtureWeights(const Fixture& fixture) : fixture_(fixture) {}
  [[nodiscard]] bool has(std::string_view state) const override { return state == kMaster; }
  void read(const ParamTensor& tensor, std::string_view /*state*/, std::int64_t first,
            std::span<float> into) override {
    const auto found =
        std::ranges::find(fixture_.parameters(), tensor.name, &Fixture::Parameter::name);
    REQUIRE(found != fixture_.parameters().end());
    for (std::size_t i = 0; i < into.size(); ++i)
      into[i] = static_cast<float>(found->values.at(static_cast<std::size_t>(first) + i));
  }

 private:
  const Fixture& fixture_;
};

/// Programs over the weights of a fixture, in memory.
class InMemory {
 public:
  InMemory(const Fixture& fixture, const std::vector<const Program*>& programs)
      : backend_(make_cpu_backend({.threads = 2})), stream_(backend_.device->make_stream()) {
    std::size_t scratch = 0;
    for (const Program* program : programs) {
      verify(*program);
      scratch = std::max(scratch, backend_.kernels->workspace_bytes(program->extents));
    }
    const PlacementPlan plan = place(programs, static_cast<std::int64_t>(scratch));
    const TierPlan& device = plan.device();
    arena_ = backend_.device->allocate(Tier::device, static_cast<std::size_t>(device.total_bytes));
    // NaN everywhere, also in what a training step would have left in the cache.
    std::memset(arena_->data(), 0xFF, arena_->bytes());
    backend_.kernels->set_workspace(arena_->data() + device.workspace_offset,
                                    static_cast<std::size_t>(device.workspace_bytes));
    for (std::size_t i = 0; i < programs.size(); ++i) {
      executors_.push_back(std::make_unique<Executor>(
          *programs[i], plan.offsets[i], edges_of(*programs[i], plan.offsets[i]), backend_,
          make_workplace(arena_->data(), nullptr, *stream_)));
    }
    FixtureWeights weights(fixture);
    fill_states(*programs[0], ShardSpec{}, *executors_[0], nullptr, weights, *backend_.kernels,
                *stream_, 1);
  }
  Executor& executor(std::size_t i) { return *executors_[i]; }

 private:
  Backend backend_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Arena> arena_;
  std::vector<std::unique_ptr<Executor>> executors_;
};

DecodePrograms decode_programs(const Fixture& fixture, DType act, std::int64_t sequences) {
  const auto positions = static_cast<std::int64_t>(fixture.model("seq_len"));
  return build_decode(model_of(fixture),
                      {.sequences = sequences,
                       .room = positions,
                       .positions = positions,
                       .piece = kPiece,
                       .valid_vocab = static_cast<std::int64_t>(fixture.model("valid_vocab")),
                       .act = act,
                       .encoder_len = model_of(fixture).arch == "t5"
                                          ? static_cast<std::int64_t>(fixture.model("encoder_len"))
                                          : 0});
}

/// Difference of logits from those of the fixture, in the norm of all that were compared.
class Difference {
 public:
  explicit Difference(const Fixture& fixture)
      : want_(fixture.array<float>("logits")), vocab_(fixture.model("valid_vocab")) {}
  void add(std::span<const float> got, std::size_t row) {
    for (std::size_t v = 0; v < vocab_; ++v) {
      const double want = static_cast<double>(want_.at(row * vocab_ + v));
      const double error = static_cast<double>(got[v]) - want;
      difference_ += error * error;
      norm_ += want * want;
    }
  }
  [[nodiscard]] double relative() const { return std::sqrt(difference_ / norm_); }

 private:
  std::vector<float> want_;
  std::size_t vocab_;
  double difference_ = 0, norm_ = 0;
};

/// Reads `first + b` tokens of sequence b at once and the rest one by one.
double difference_of(const Fixture& fixture, DType act, std::size_t first) {
  const std::size_t batch = fixture.model("micro"), time = fixture.model("seq_len");
  const DecodePrograms programs = decode_programs(fixture, act, static_cast<std::int64_t>(batch));
  InMemory memory(fixture, {&programs.prefill, &programs.step});
  Decoder decoder({programs.prefill, memory.executor(0)}, {programs.step, memory.executor(1)});
  const auto tokens = fixture.array<std::int32_t>("tokens.0");
  Difference difference(fixture);
  std::vector<std::size_t> lengths(batch);
  std::vector<Decoder::Tokens> prompts(batch);
  for (std::size_t b = 0; b < batch; ++b) {
    lengths[b] = std::min(first + b, time);
    prompts[b] = std::span(tokens).subspan(b * time, lengths[b]);
  }
  decoder.read(prompts);
  while (true) {
    std::vector<std::int32_t> next(batch, -1);
    bool goes_on = false;
    for (std::size_t b = 0; b < batch; ++b) {
      if (lengths[b] > time) continue;
      difference.add(decoder.logits(b), b * time + lengths[b] - 1);
      if (lengths[b]++ == time) continue;
      next[b] = tokens[b * time + lengths[b] - 1];
      goes_on = true;
    }
    if (!goes_on) return difference.relative();
    decoder.add(next);
  }
}

TEST_CASE("fp32: the logits at every position are those of PyTorch's whole forward pass") {
  for (const char* name : {"gpt2_tiny", "gpt2_odd", "llama_tiny", "llama_odd", "qwen2_tiny",
                           "llama_scaled", "mistral_linear"}) {
    const Fixture fixture(DS_FIXTURES, name);
    for (const std::size_t first : {std::size_t{1}, std::size_t{kPiece}, std::size_t{kPiece + 2},
                                    static_cast<std::size_t>(fixture.model("seq_len"))}) {
      CAPTURE(name);
      CAPTURE(first);
      CHECK(difference_of(fixture, DType::f32, first) <= 1e-5);
    }
  }
}

/// The decoder's tokens come one by one, after an encoder that has read prompts of different
/// lengths.
double difference_with_encoder(const Fixture& fixture, DType act) {
  const std::size_t batch = fixture.model("micro"), time = fixture.model("seq_len");
  const std::size_t encoder_len = fixture.model("encoder_len");
  const DecodePrograms programs = decode_programs(fixture, act, static_cast<std::int64_t>(batch));
  InMemory memory(fixture, {&programs.prefill, &programs.step});
  const auto tokens = fixture.array<std::int32_t>("tokens.0");
  const auto encoder_tokens = fixture.array<std::int32_t>("encoder_tokens.0");
  // Without documents no row has padding.
  const bool has_padding = fixture.has_array("documents.0");
  const auto documents = has_padding ? fixture.array<std::int32_t>("documents.0")
                                     : std::vector<std::int32_t>(batch * time);
  const auto encoder_documents = has_padding ? fixture.array<std::int32_t>("encoder_documents.0")
                                             : std::vector<std::int32_t>(batch * encoder_len);
  Decoder decoder({programs.prefill, memory.executor(0)}, {programs.step, memory.executor(1)},
                  tokens[0]);
  std::vector<Decoder::Tokens> prompts;
  for (std::size_t b = 0; b < batch; ++b) {
    const auto of_row = std::span(encoder_documents).subspan(b * encoder_len, encoder_len);
    const auto length = static_cast<std::size_t>(std::ranges::count(of_row, of_row[0]));
    prompts.push_back(std::span(encoder_tokens).subspan(b * encoder_len, length));
  }
  decoder.read(prompts);
  Difference difference(fixture);
  for (std::size_t t = 0; t < time; ++t) {
    std::vector<std::int32_t> next(batch, -1);
    for (std::size_t b = 0; b < batch; ++b) {
      const std::size_t row = b * time + t;
      if (documents[row] != documents[b * time]) continue;
      difference.add(decoder.logits(b), row);
      if (t + 1 < time) next[b] = tokens[row + 1];
    }
    if (t + 1 < time) decoder.add(next);
  }
  return difference.relative();
}

TEST_CASE("a program without a loss returns the logits of the rows that are named") {
  for (const char* name : {"gpt2_odd", "llama_odd"}) {
    CAPTURE(name);
    const Fixture fixture(DS_FIXTURES, name);
    const auto size = [&](const char* key) {
      return static_cast<std::int64_t>(fixture.model(key));
    };
    const std::int64_t rows = size("micro") * size("seq_len");
    for (const std::int64_t wanted : {std::int64_t{3}, rows}) {
      const Program program = build_model(model_of(fixture), {.micro = size("micro"),
                                                              .seq_len = size("seq_len"),
                                                              .valid_vocab = size("valid_vocab"),
                                                              .logits = wanted});
      InMemory memory(fixture, {&program});
      const Executor& executor = memory.executor(0);
      const auto fill = [&](const char* input, const std::vector<std::int32_t>& values) {
        const Tensor to = executor.tensor(program.input(input));
        REQUIRE(to.elements() == std::ssize(values));
        std::memcpy(to.data, values.data(), static_cast<std::size_t>(to.bytes()));
      };
      fill(input::kTokens, fixture.array<std::int32_t>("tokens.0"));
      const auto last = static_cast<std::int32_t>(rows - 1);
      if (wanted == 3) fill(input::kLast, {last, 0, 2});
      StepContext context;
      memory.executor(0).run(context);
      const Tensor out = executor.tensor(program.logits);
      const std::span logits(static_cast<const float*>(out.data),
                             static_cast<std::size_t>(out.elements()));
      Difference difference(fixture);
      for (std::int64_t i = 0; i < wanted; ++i) {
        const std::int64_t row = wanted == rows ? i : i == 0 ? last : i == 1 ? 0 : 2;
        difference.add(logits.subspan(static_cast<std::size_t>(i * out.shape[1])),
                       static_cast<std::size_t>(row));
      }
      CHECK(difference.relative() <= 1e-5);
    }
  }
}

// A rounding to bf16 changes a value by at most 2^-9, evenly 2^-9 / sqrt(3) = 1.1e-3. A block
// rounds about 12 results that reach the residual, and two blocks and the norm add up in
// quadrature: 1.1e-3 * sqrt(26) = 5.7e-3. Products amplify this by at most 4 in these models. f16
// has 3 more bits.
TEST_CASE("bf16 and fp16: the logits at every position differ by no more than roundings") {
  for (const char* name : {"gpt2_tiny", "llama_odd", "qwen2_tiny"}) {
    CAPTURE(name);
    const Fixture fixture(DS_FIXTURES, name);
    CHECK(difference_of(fixture, DType::bf16, 3) <= 2.3e-2);
    CHECK(difference_of(fixture, DType::f16, 3) <= 2.3e-2 / 8);
  }
}

TEST_CASE("T5: the logits at every position are those of PyTorch's whole pass") {
  for (const char* name : {"t5_tiny", "t5_tied", "t5_flan"}) {
    CAPTURE(name);
    const Fixture fixture(DS_FIXTURES, name);
    CHECK(difference_with_encoder(fixture, DType::f32) <= 1e-5);
    CHECK(difference_with_encoder(fixture, DType::bf16) <= 2.3e-2);  // as above
    CHECK(difference_with_encoder(fixture, DType::f16) <= 2.3e-2 / 8);
  }
}

}  // namespace
}  // namespace ds::golden
