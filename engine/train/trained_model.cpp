// The first passes of every program of a job.
#include "engine/train/trained_model.h"

#include "engine/exchange/adapter_tensors.h"
#include "engine/models/adapters.h"
#include "engine/models/build_model.h"
#include "engine/program/freeze.h"

namespace ds {

Program trained_model(const TrainConfig& config, const ModelShape& shape, double dropout) {
  Program model = build_model(config.model, shape);
  const LoraConfig& lora = config.lora;
  if (lora.rank == 0) return freeze(std::move(model), config.train.freeze);
  model = add_adapters(
      std::move(model), linear_modules(config.model, config.data.seq_len),
      {.rank = lora.rank, .scale = lora.scale(), .dropout = dropout, .targets = lora.targets});
  return freeze_all_but(std::move(model), adapter_patterns(lora.train));
}

}  // namespace ds
