// What a checkpoint's config says of its model: all that other formats need to know.
#pragma once

#include <string>

#include "engine/checkpoint/manifest.h"
#include "engine/config/train_config.h"

namespace ds {

struct ModelFacts {
  ModelConfig model{};
  std::int64_t seq_len = 0;
  std::string tokenizer{};
  /// Rows of the embedding that are tokens; 0: not known, no row is known to be padding.
  [[nodiscard]] std::int64_t tokens() const;
};

/// From the resolved config that a manifest holds. Keys that this build does not know are left out.
/// Errors: Error{config}: no architecture, or one that this build does not have.
ModelFacts model_facts(const Manifest& manifest);

}  // namespace ds
