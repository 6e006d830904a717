// Tests the whole model's gradient against central differences of the loss in double precision, and
// the double-precision model against PyTorch.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <optional>

#include "golden/model_under_test.h"
#include "reference/bert.h"
#include "reference/gpt2.h"
#include "reference/llama.h"
#include "reference/t5.h"

namespace ds::golden {
namespace {

std::map<std::string, Values> parameters_of(const Fixture& fixture) {
  std::map<std::string, Values> parameters;
  for (const Fixture::Parameter& parameter : fixture.parameters())
    parameters[parameter.name] = parameter.values;
  return parameters;
}

/// The model in double precision.
class Oracle {
 public:
  explicit Oracle(const Fixture& f) : is_llama_(f.is_llama()), is_bert_(f.is_bert()) {
    if (f.is_t5()) {
      t5_ = t5_of(f);
      return;
    }
    if (is_bert_) {
      bert_ = bert_of(f);
      return;
    }
    if (!is_llama_) {
      gpt2_ = {.layers = f.model("layers"),
               .hidden = f.model("hidden"),
               .heads = f.model("heads"),
               .seq_len = f.model("seq_len"),
               .valid_vocab = f.model("valid_vocab"),
               .parameters = parameters_of(f)};
      return;
    }
    llama_ = {.layers = f.model("layers"),
              .hidden = f.model("hidden"),
              .heads = f.model("heads"),
              .kv_heads = f.model("kv_heads"),
              .ffn = f.model("ffn"),
              .seq_len = f.model("seq_len"),
              .valid_vocab = f.model("valid_vocab"),
              .rope_theta = f.header()["model"]["rope_theta"].get<double>(),
              .norm_eps = f.header()["model"]["norm_eps"].get<double>(),
              .tied = f.header()["model"]["tied"].get<bool>(),
              .head_size = f.header()["model"].value("head_size", reference::Index{0}),
              .scaling = f.rotary_scaling(),
              .window = f.header()["model"].value("window", std::int64_t{0}),
              .full_layers = f.header()["model"].value("full_layers", reference::Index{0}),
              .parameters = parameters_of(f)};
  }
  Values& parameter(const std::string& name) {
    if (t5_) return t5_->parameters.at(name);
    if (is_bert_) return bert_.parameters.at(name);
    return (is_llama_ ? llama_.parameters : gpt2_.parameters).at(name);
  }
  [[nodiscard]] double loss(const Batch& batch) const {
    if (t5_) {
      return t5_->loss({.encoder_tokens = batch.encoder_tokens,
                        .encoder_documents = batch.encoder_documents,
                        .tokens = batch.tokens,
                        .documents = batch.documents},
                       batch.targets);
    }
    if (is_bert_) {
      return bert_.loss({.tokens = batch.tokens,
                         .positions = batch.positions,
                         .token_types = batch.token_types,
                         .documents = batch.documents},
                        batch.targets);
    }
    return is_llama_ ? llama_.loss(batch.tokens, batch.targets)
                     : gpt2_.loss(batch.tokens, batch.targets);
  }

 private:
  static reference::T5 t5_of(const Fixture& f) {
    const auto& model = f.header()["model"];
    return {.layers = f.model("layers"),
            .decoder_layers = f.model("decoder_layers"),
            .hidden = f.model("hidden"),
            .heads = f.model("heads"),
            .head_size = f.model("head_size"),
            .ffn = f.model("ffn"),
            .encoder_len = f.model("encoder_len"),
            .seq_len = f.model("seq_len"),
            .valid_vocab = f.model("valid_vocab"),
            .buckets = static_cast<std::int64_t>(f.model("buckets")),
            .distance = static_cast<std::int64_t>(f.model("distance")),
            .norm_eps = model["norm_eps"].get<double>(),
            .gated = model["activation"].get<std::string>() == "gated_gelu",
            .tied = model["tied"].get<bool>(),
            .scaled = model["scaled"].get<bool>(),
            .parameters = parameters_of(f)};
  }

  static reference::Bert bert_of(const Fixture& f) {
    const BertFamily& family = *bert_family(f.arch());
    const std::string word = f.header()["model"]["activation"].get<std::string>();
    const Activation activation = word == "relu"        ? Activation::relu
                                  : word == "gelu_tanh" ? Activation::gelu_tanh
                                                        : Activation::gelu_erf;
    return {.layers = f.model("layers"),
            .hidden = f.model("hidden"),
            .heads = f.model("heads"),
            .ffn = f.model("ffn"),
            .seq_len = f.model("seq_len"),
            .valid_vocab = f.model("valid_vocab"),
            .norm_eps = f.header()["model"]["norm_eps"].get<double>(),
            .activation = activation,
            .head_activation = family.head_has_gelu ? Activation::gelu_erf : activation,
            .head_dense = std::string(family.head_dense),
            .head_norm = std::string(family.head_norm),
            .head_bias = std::string(family.head_bias),
            .parameters = parameters_of(f)};
  }

  bool is_llama_, is_bert_;
  std::optional<reference::T5> t5_{};
  reference::Bert bert_{};
  reference::Gpt2 gpt2_{};
  reference::Llama llama_{};
};

constexpr const char* kCases[] = {
    "gpt2_tiny",      "gpt2_odd",   "llama_tiny", "llama_odd",  "qwen2_tiny",     "llama_scaled",
    "mistral_linear", "qwen3_tiny", "qwen3_odd",  "qwen3_even", "mistral_window", "qwen2_window",
    "qwen3_window",   "bert_tiny",  "bert_odd",   "bert_relu",  "roberta_tiny",   "roberta_odd",
    "roberta_relu",   "t5_tiny",    "t5_odd",     "t5_flan",    "t5_tied"};

double norm(const Values& values) {
  return std::sqrt(reference::dot(values.data(), values.data(), values.size()));
}

TEST_CASE("two oracles agree: the double-precision reference and PyTorch") {
  for (const char* name : kCases) {
    const Fixture fixture(DS_FIXTURES, name);
    const double want = fixture.header()["loss_sum"].get<double>();
    const double got = Oracle(fixture).loss(batch_of(fixture, 0));
    fmt::print("{}: reference against PyTorch, both in double: {:.1e}\n", name,
               std::abs(got - want) / want);
    CHECK(std::abs(got - want) <= 1e-12 * want);
  }
}

// Along the direction d, |d| = 1, the slope is gradient . d. Central differences with h = 1e-6 are
// off by h^2 times a third derivative and by 1e-16 * loss / h = 1e-8: far below fp32's error in the
// gradient. Few of ReLU's corners lie within such a step.
TEST_CASE("fp32 gradients are the slopes of the double-precision loss") {
  constexpr double kStep = 1e-6, kTolerance = 1e-5;
  for (const char* name : kCases) {
    CAPTURE(name);
    const Fixture fixture(DS_FIXTURES, name);
    const Batch batch = batch_of(fixture, 0);
    ModelUnderTest model(fixture, DType::f32);
    model.step(batch, 0);
    Oracle oracle(fixture);
    double worst = 0;
    std::uint64_t counter = 0;
    for (const Fixture::Parameter& parameter : fixture.parameters()) {
      CAPTURE(parameter.name);
      Values direction(parameter.values.size());
      for (double& x : direction) x = uniform(77, counter++);
      // Half along the gradient itself, so that the slope is never small compared with its error.
      const Values& gradient = model.gradient(parameter.name);
      const double length = norm(direction), size = norm(gradient);
      for (std::size_t i = 0; i < direction.size(); ++i) {
        direction[i] = 0.5 * (direction[i] / length + gradient[i] / size);
      }
      const auto loss_at = [&](double h) {
        Values& values = oracle.parameter(parameter.name);
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = parameter.values[i] + h * direction[i];
        }
        const double loss = oracle.loss(batch);
        values = parameter.values;
        return loss;
      };
      const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
      const double got = reference::dot(gradient.data(), direction.data(), direction.size());
      const double error = std::abs(got - slope) / size;
      CHECK(error <= kTolerance);
      worst = std::max(worst, error);
    }
    fmt::print("{}: worst slope, of its gradient's norm: {:.1e}\n", name, worst);
  }
}

}  // namespace
}  // namespace ds::golden
