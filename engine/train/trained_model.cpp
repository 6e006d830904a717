// The first passes of every program of a job.
#include "engine/train/trained_model.h"

#include "engine/exchange/adapter_tensors.h"
#include "engine/models/adapters.h"
#include "engine/models/build_model.h"
#include "engine/program/freeze.h"

namespace ds {

Program trained_model(const TrainConfig& config, const ModelShape& shape, double dropout) {
  Program model = with_lora(build_model(config.model, shape), config.model, config.lora,
                            config.data.seq_len, dropout);
  if (config.lora.rank == 0) return freeze(std::move(model), config.train.freeze);
  return freeze_all_but(std::move(model), adapter_patterns(config.lora.train));
}

}  // namespace ds
