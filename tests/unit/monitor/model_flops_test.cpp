// The work of known models, by hand.
#include "engine/monitor/model_flops.h"

#include <doctest/doctest.h>

namespace {

ds::ModelConfig model_of(std::int64_t layers, std::int64_t hidden, std::int64_t ffn,
                         std::int64_t vocab) {
  ds::ModelConfig model;
  model.layers = layers;
  model.hidden = hidden;
  model.ffn = ffn;
  model.vocab = vocab;
  return model;
}

}  // namespace

TEST_CASE("GPT-2 small has 124 M parameters, the 10 M preset 10.8 M") {
  const ds::ModelConfig gpt2 = model_of(12, 768, 3072, 50257);
  CHECK(ds::total_parameters(gpt2, 1024) == 124'439'808.0);  // As published.
  const ds::ModelConfig small = model_of(6, 384, 1536, 256);
  CHECK(ds::total_parameters(small, 256) == doctest::Approx(10.84e6).epsilon(0.01));
}

TEST_CASE("one token costs 6 operations a matrix weight and 12 L C T of attention") {
  const ds::ModelConfig tiny = model_of(1, 2, 8, 3);
  CHECK(ds::matmul_parameters(tiny) == 4 * 4 + 2 * 16 + 6);
  CHECK(ds::training_flops_per_token(tiny, 5) == 6 * 54 + 12 * 1 * 2 * 5);
}
