// Small models of each family, for tests of their mapping and of reading their folders.
#pragma once

#include <string>

#include "engine/config/train_config.h"

/// 3 layers of 48; type_vocab, head_size and what only one family has stay unset.
inline ds::ModelConfig config_of(const std::string& arch, bool tied) {
  ds::ModelConfig config;
  config.arch = arch;
  config.layers = 3;
  config.hidden = 48;
  config.heads = 6;
  config.kv_heads = arch == "llama" ? 2 : 6;
  config.ffn = 80;
  config.vocab = 320;
  config.tied = tied;
  return config;
}
