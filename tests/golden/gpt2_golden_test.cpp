// Tests the whole GPT-2, Llama, BERT and T5 through the program and the executor against PyTorch's
// fixtures: logits, loss, every gradient, ten steps of AdamW. Tests bf16 and fp16 against the same
// model in fp32.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "golden/model_under_test.h"

namespace ds::golden {
namespace {

constexpr double kLossTolerance = 1e-5;
constexpr double kGradientTolerance = 1e-4;
constexpr double kLogitsTolerance = 1e-5;

constexpr const char* kCases[] = {
    "gpt2_tiny",      "gpt2_odd",   "llama_tiny", "llama_odd",  "qwen2_tiny",     "llama_scaled",
    "mistral_linear", "qwen3_tiny", "qwen3_odd",  "qwen3_even", "mistral_window", "qwen2_window",
    "qwen3_window",   "bert_tiny",  "bert_odd",   "bert_relu",  "roberta_tiny",   "roberta_odd",
    "roberta_relu",   "lora_llama", "lora_qwen2", "lora_gpt2",  "t5_tiny",        "t5_odd",
    "t5_flan",        "t5_tied"};

struct HalfCase {
  const char* name;
  DType act;
};
constexpr HalfCase kHalfCases[] = {
    {"gpt2_tiny", DType::bf16},  {"gpt2_odd", DType::bf16},     {"gpt2_tiny", DType::f16},
    {"gpt2_odd", DType::f16},    {"llama_tiny", DType::bf16},   {"llama_odd", DType::bf16},
    {"llama_tiny", DType::f16},  {"llama_odd", DType::f16},     {"qwen2_tiny", DType::bf16},
    {"qwen2_tiny", DType::f16},  {"llama_scaled", DType::bf16}, {"bert_tiny", DType::bf16},
    {"bert_tiny", DType::f16},   {"bert_odd", DType::bf16},     {"roberta_tiny", DType::bf16},
    {"roberta_odd", DType::f16}, {"t5_odd", DType::bf16},       {"t5_odd", DType::f16},
    {"t5_flan", DType::bf16},    {"t5_flan", DType::f16},       {"t5_tied", DType::f16},
    {"qwen3_tiny", DType::bf16}, {"qwen3_tiny", DType::f16},    {"qwen3_odd", DType::bf16}};
// Rounding moves some of ReLU's arguments across 0, where the slope jumps, so a gradient is off by
// about the root of their share, which is large in a small tensor. Logits and loss have no jump.
constexpr HalfCase kReluHalfCases[] = {{"bert_relu", DType::bf16},
                                       {"roberta_relu", DType::bf16},
                                       {"roberta_relu", DType::f16},
                                       {"t5_tiny", DType::bf16},
                                       {"t5_tiny", DType::f16}};

Values doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

double norm_of(const Values& values) {
  double squares = 0;
  for (const double x : values) squares += x * x;
  return std::sqrt(squares);
}

/// Returns |got - want| / |want| in the Euclidean norm.
double relative_error(const Values& got, const Values& want) {
  REQUIRE(got.size() == want.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  REQUIRE(norm > 0);
  return std::sqrt(difference / norm);
}

// NaN must not pass as a multiple of a tolerance: !(error <= tolerance) fails.
double worst_gradient(const Fixture& fixture, const ModelUnderTest& got,
                      const std::function<Values(const std::string&)>& want, double tolerance) {
  double worst = 0;
  for (const Fixture::Parameter& parameter : fixture.parameters()) {
    CAPTURE(parameter.name);
    if (got.gradient(parameter.name).empty()) continue;  // frozen
    const double error = relative_error(got.gradient(parameter.name), want(parameter.name));
    CHECK(error <= tolerance);
    worst = std::max(worst, error);
  }
  return worst;
}

TEST_CASE("fp32: logits, loss and every gradient match PyTorch") {
  for (const char* name : kCases) {
    CAPTURE(name);
    const Fixture fixture(DS_FIXTURES, name);
    ModelUnderTest model(fixture, DType::f32);
    const Batch batch = batch_of(fixture, 0);
    const double logits =
        relative_error(model.logits(batch), doubles(fixture.array<float>("logits")));
    CHECK(logits <= kLogitsTolerance);

    const double want = fixture.header()["loss_mean"].get<double>();
    const double loss = std::abs(model.step(batch, 0).loss - want) / want;
    CHECK(loss <= kLossTolerance);

    const auto torch = [&](const std::string& parameter) {
      return doubles(fixture.array<float>("grad." + parameter));
    };
    const double gradient = worst_gradient(fixture, model, torch, kGradientTolerance);
    fmt::print("{}: fp32 relative errors: logits {:.1e}, loss {:.1e}, worst gradient {:.1e}\n",
               name, logits, loss, gradient);
  }
}

TEST_CASE("fp32: ten steps of AdamW with two parameter groups follow PyTorch in double precision") {
  for (const char* name : kCases) {
    CAPTURE(name);
    const Fixture fixture(DS_FIXTURES, name);
    ModelUnderTest model(fixture, DType::f32);
    const std::vector<double> losses = fixture.header()["losses_f64"];
    const std::vector<double> norms = fixture.header()["grad_norms_f64"];
    double worst_loss = 0, worst_norm = 0, worst_trained = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      CAPTURE(i);
      const double lr = fixture.header()["optimizer"]["lr"].get<double>();
      const ModelUnderTest::Step step = model.step(batch_of(fixture, i), lr);
      const double loss = std::abs(step.loss - losses[i]) / losses[i];
      const double norm = std::abs(step.norm - norms[i]) / norms[i];
      CHECK(loss <= kLossTolerance);
      CHECK(norm <= kGradientTolerance);
      worst_loss = std::max(worst_loss, loss);
      worst_norm = std::max(worst_norm, norm);
    }
    // Ten steps of decay shrink a tensor by 2e-3: the norms tell which tensors decayed.
    for (const auto& [parameter, want] : fixture.header()["trained_norms_f64"].items()) {
      CAPTURE(parameter);
      const double norm = norm_of(model.trained(parameter));
      const double error = std::abs(norm - want.get<double>()) / want.get<double>();
      CHECK(error <= kLossTolerance);
      worst_trained = std::max(worst_trained, error);
    }
    fmt::print(
        "{}: fp32, ten AdamW steps: worst loss {:.1e}, gradient norm {:.1e}, tensor {:.1e}\n", name,
        worst_loss, worst_norm, worst_trained);
  }
}

TEST_CASE("fp32: micro-batches and virtual ranks in both orders add up to PyTorch's whole batch") {
  using Order = ShardSpec::Order;
  const Fixture fixture(DS_FIXTURES, "gpt2_tiny");
  const Batch batch = batch_of(fixture, 0);
  const double want = fixture.header()["loss_mean"].get<double>();
  const auto torch = [&](const std::string& parameter) {
    return doubles(fixture.array<float>("grad." + parameter));
  };
  for (const Order order : {Order::boundary, Order::step}) {
    for (const auto& [virtual_ranks, accum] : {std::pair{1, 4}, {2, 2}, {4, 1}, {2, 1}}) {
      CAPTURE(virtual_ranks);
      CAPTURE(accum);
      ModelUnderTest model(fixture, DType::f32,
                           {.virtual_ranks = virtual_ranks, .accum = accum, .order = order});
      const double loss = std::abs(model.step(batch, 0).loss - want) / want;
      CHECK(loss <= kLossTolerance);
      const double gradient = worst_gradient(fixture, model, torch, kGradientTolerance);
      fmt::print("{} virtual ranks, {} micro-steps, order {}: worst gradient {:.1e}\n",
                 virtual_ranks, accum, order == Order::step ? "step" : "boundary", gradient);
    }
  }
}

// How far 16 bits may be from fp32 with the same master weights.
//
// Rounding to 8 (bf16) or 11 (fp16) bits of significand adds a uniform relative error of at most
// u = 2^-9 or 2^-12, with a deviation of u / sqrt(3) = 1.13e-3 or 1.41e-4. Errors of different
// roundings are independent and add in quadrature. The longest forward path contains the rounding
// of the embedding's sum and, per block, the roundings of ln_1's result, qkv, the probabilities,
// the attention's result, its projection, the new residual, ln_2's result, the pre-activation,
// GELU's result, its projection and the new residual (11), and of four weight matrices and two
// norms' weights (6); then ln_f and its weight, and wte: 4 + 17 L roundings. (Llama has one more
// per block, of the rotated queries, and one less in the embedding.) The reverse path has as many
// again. It also uses the forward's values where it multiplies by them (saved activations: 17 L):
// 8 + 51 L in all. The norm of a gradient tensor is then off by u / sqrt(3) * sqrt(8 + 51 L):
// 1.2e-2 for two layers of bf16. Two effects amplify it. A norm or softmax subtracts a mean, so an
// error relative to its input becomes relative to the smaller remainder. A sum over rows cancels
// more in the gradient than in its error (a gradient of N rows with random signs shrinks with the
// error; one that cancels more does not). Each is a factor of at most about sqrt(2) at these
// weights; together 2. SwiGLU multiplies two values made of the same input: both have the error of
// that input, which adds up linearly instead of in quadrature; another sqrt(2).
double rounding_deviation(DType act) {
  return (act == DType::bf16 ? 0x1p-9 : 0x1p-12) / std::sqrt(3.0);
}
//
// A T5's longest path goes through both stacks. A decoder's block has a third branch, of a norm, q,
// probabilities, result, projection and residual, and three weights, about half of a block, so that
// the stacks count as layers + 1.5 decoder layers. Its scores are not divided by sqrt(D): an error
// of queries and keys becomes sqrt(D) times as large in the probabilities, so that 4 of a block's
// 17 roundings (of ln_1's result, qkv and their weights) have D times the variance.
double depth_of(const Fixture& fixture) {
  const auto layers = static_cast<double>(fixture.model("layers"));
  if (!fixture.is_t5()) return layers;
  const auto size = static_cast<double>(fixture.model("head_size"));
  return (layers + 1.5 * static_cast<double>(fixture.model("decoder_layers"))) * (13 + 4 * size) /
         17;
}
double gradient_tolerance(DType act, const Fixture& fixture) {
  const double layers = depth_of(fixture);
  const double amplified = fixture.is_llama() || fixture.is_t5() ? 2 * std::sqrt(2.0) : 2;
  return amplified * rounding_deviation(act) * std::sqrt(8 + 51 * layers);
}

// Tolerance of the loss. Logits are off by e = u / sqrt(3) * sqrt(4 + 17 L) of their deviation s
// over the vocabulary. A row's loss changes by (p - onehot) . error, of size e * s * |p - onehot|,
// |.| <= sqrt(2). The mean over n rows changes by that / sqrt(n), because rows' errors are
// independent except those of the weights, which n rows share: half of the variance is counted as
// shared. Three deviations.
double loss_tolerance(DType act, double layers, double logit_deviation, double rows) {
  const double e = rounding_deviation(act) * std::sqrt(4 + 17 * layers);
  return 3 * e * logit_deviation * std::sqrt(2.0) * std::sqrt(0.5 + 0.5 / rows);
}

double deviation(const Values& values) {
  double sum = 0, squares = 0;
  for (const double x : values) {
    sum += x;
    squares += x * x;
  }
  const auto n = static_cast<double>(values.size());
  return std::sqrt(squares / n - sum * sum / (n * n));
}

/// Steps both models once and compares logits and losses.
void check_forward(const Fixture& fixture, DType act, ModelUnderTest& full, ModelUnderTest& half) {
  const Batch batch = batch_of(fixture, 0);
  const Values logits = full.logits(batch);
  const double logits_error = relative_error(half.logits(batch), logits);
  CHECK(logits_error <= gradient_tolerance(act, fixture));
  CHECK(logits_error > (act == DType::bf16 ? 1e-4 : 1e-5));  // it was rounded at all
  const double loss = full.step(batch, 0).loss;
  const double loss_error = std::abs(half.step(batch, 0).loss - loss);
  const double allowed = loss_tolerance(act, depth_of(fixture), deviation(logits),
                                        fixture.header()["target_tokens"].get<double>());
  CHECK(loss_error <= allowed);
  fmt::print("{} against fp32: logits {:.1e}, loss {:.1e} nats (allowed {:.1e})\n",
             ds::name_of(act), logits_error, loss_error, allowed);
}

TEST_CASE("bf16 and fp16 with ReLU: logits and loss match fp32") {
  for (const auto& [name, act] : kReluHalfCases) {
    CAPTURE(name);
    CAPTURE(ds::name_of(act));
    const Fixture fixture(DS_FIXTURES, name);
    ModelUnderTest full(fixture, DType::f32), half(fixture, act);
    check_forward(fixture, act, full, half);
  }
}

TEST_CASE("bf16 and fp16 match fp32 within the roundings on the path") {
  for (const auto& [name, act] : kHalfCases) {
    CAPTURE(name);
    CAPTURE(ds::name_of(act));
    const Fixture fixture(DS_FIXTURES, name);
    ModelUnderTest full(fixture, DType::f32), half(fixture, act);
    check_forward(fixture, act, full, half);
    const auto own = [&](const std::string& parameter) { return full.gradient(parameter); };
    const double tolerance = gradient_tolerance(act, fixture);
    const double gradient = worst_gradient(fixture, half, own, tolerance);
    fmt::print("{}: {} against fp32: worst gradient {:.1e} (allowed {:.1e})\n", name,
               ds::name_of(act), gradient, tolerance);
  }
}

TEST_CASE("bf16 and fp16: ten steps of AdamW stay near fp32") {
  // AdamW's first steps move every weight by about lr whatever the gradient's size, so a gradient
  // whose sign rounding flipped moves the other way. The share of such elements is about the
  // relative error of the gradient, and the decrease of the loss is off by at most twice that
  // share.
  for (const auto& [name, act] : kHalfCases) {
    CAPTURE(name);
    CAPTURE(ds::name_of(act));
    const Fixture fixture(DS_FIXTURES, name);
    ModelUnderTest half(fixture, act);
    const std::vector<double> losses = fixture.header()["losses_f64"];
    const double lr = fixture.header()["optimizer"]["lr"].get<double>();
    const double layers = depth_of(fixture);
    const Batch batch = batch_of(fixture, 0);
    ModelUnderTest full(fixture, DType::f32);
    const double at_start = loss_tolerance(act, layers, deviation(full.logits(batch)),
                                           fixture.header()["target_tokens"].get<double>());
    const double share = 2 * gradient_tolerance(act, fixture);
    double worst = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      CAPTURE(i);
      const double error = std::abs(half.step(batch_of(fixture, i), lr).loss - losses[i]);
      CHECK(error <= at_start + share * std::abs(losses[i] - losses[0]));
      worst = std::max(worst, error);
    }
    fmt::print("{}: {}, ten AdamW steps: worst loss {:.1e} nats off\n", name, ds::name_of(act),
               worst);
  }
}

}  // namespace
}  // namespace ds::golden
