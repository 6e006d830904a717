// ModelFacts: what other formats need to know about the model in a checkpoint.
#pragma once

#include <string>

#include "engine/checkpoint/manifest.h"
#include "engine/config/train_config.h"

namespace ds {

struct ModelFacts {
  ModelConfig model{};
  LoraConfig lora{};
  std::int64_t seq_len = 0;
  std::string tokenizer{};
  /// Returns the rows of the embedding that are tokens; 0: unknown, so no row counts as padding.
  [[nodiscard]] std::int64_t tokens() const;
};

/// Reads the resolved config in a manifest. Keys that this build does not know are ignored. Errors:
/// Error{config}: no architecture, or one that this build does not have.
ModelFacts model_facts(const Manifest& manifest);

}  // namespace ds
