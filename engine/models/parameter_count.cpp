// count_parameters(): two models that differ by one layer.
#include "engine/models/parameter_count.h"

#include "engine/models/build_model.h"
#include "engine/program/freeze.h"

namespace ds {

ParameterCount count_parameters(ModelConfig model, std::int64_t seq_len) {
  const auto more_layers = static_cast<double>(model.layers - 1);
  const ModelShape shape{
      .seq_len = seq_len, .valid_vocab = model.vocab, .fields = {.encoder_len = 1}};
  const auto count = [&](std::int64_t layers) {
    model.layers = layers;
    return static_cast<double>(trained_count(build_model(model, shape)).trained);
  };
  const double one = count(1), layer = count(2) - one;
  return {.all = one + more_layers * layer, .one_layer = layer};
}

}  // namespace ds
