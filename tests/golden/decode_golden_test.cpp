// Tests decoding with a cache against the whole forward pass of PyTorch: the logits at every
// position, of prompts of different lengths, read in pieces and token by token.
#include <doctest/doctest.h>

#include "engine/sample/decoder.h"
#include "engine/states/weights.h"
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

/// The decode programs of a fixture's model in memory.
class Decoding {
 public:
  Decoding(const Fixture& fixture, DType act, std::int64_t sequences)
      : backend_(make_cpu_backend({.threads = 2})), stream_(backend_.device->make_stream()) {
    const auto positions = static_cast<std::int64_t>(fixture.model("seq_len"));
    programs_ = build_decode(
        model_of(fixture), {.sequences = sequences,
                            .room = positions,
                            .positions = positions,
                            .piece = kPiece,
                            .valid_vocab = static_cast<std::int64_t>(fixture.model("valid_vocab")),
                            .act = act});
    const auto bytes = [&](const Program& program) {
      verify(program);
      return static_cast<std::int64_t>(backend_.kernels->workspace_bytes(program.extents));
    };
    const PlacementPlan plan = place({&programs_.prefill, &programs_.step},
                                     std::max(bytes(programs_.prefill), bytes(programs_.step)));
    const TierPlan& device = plan.device();
    arena_ = backend_.device->allocate(Tier::device, static_cast<std::size_t>(device.total_bytes));
    // NaN everywhere, also in what a training step would have left in the cache.
    std::memset(arena_->data(), 0xFF, arena_->bytes());
    backend_.kernels->set_workspace(arena_->data() + device.workspace_offset,
                                    static_cast<std::size_t>(device.workspace_bytes));
    const auto bind = [&](const Program& program, std::size_t index) {
      return std::make_unique<Executor>(program, plan.offsets[index],
                                        edges_of(program, plan.offsets[index]), backend_,
                                        make_workplace(arena_->data(), nullptr, *stream_));
    };
    prefill_ = bind(programs_.prefill, 0);
    step_ = bind(programs_.step, 1);
    FixtureWeights weights(fixture);
    fill_states(programs_.prefill, ShardSpec{}, *prefill_, nullptr, weights, *backend_.kernels,
                *stream_);
    decoder_ = std::make_unique<Decoder>(Decoder::Bound{programs_.prefill, *prefill_},
                                         Decoder::Bound{programs_.step, *step_});
  }
  Decoder& decoder() { return *decoder_; }

 private:
  Backend backend_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Arena> arena_;
  DecodePrograms programs_;
  std::unique_ptr<Executor> prefill_, step_;
  std::unique_ptr<Decoder> decoder_;
};

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
  Decoding model(fixture, act, static_cast<std::int64_t>(batch));
  const auto tokens = fixture.array<std::int32_t>("tokens.0");
  Difference difference(fixture);
  std::vector<std::size_t> lengths(batch);
  std::vector<Decoder::Tokens> prompts(batch);
  for (std::size_t b = 0; b < batch; ++b) {
    lengths[b] = std::min(first + b, time);
    prompts[b] = std::span(tokens).subspan(b * time, lengths[b]);
  }
  model.decoder().read(prompts);
  while (true) {
    std::vector<std::int32_t> next(batch, -1);
    bool goes_on = false;
    for (std::size_t b = 0; b < batch; ++b) {
      if (lengths[b] > time) continue;
      difference.add(model.decoder().logits(b), b * time + lengths[b] - 1);
      if (lengths[b]++ == time) continue;
      next[b] = tokens[b * time + lengths[b] - 1];
      goes_on = true;
    }
    if (!goes_on) return difference.relative();
    model.decoder().add(next);
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

}  // namespace
}  // namespace ds::golden
