// Prints a config as text: the resolved config.toml, the arithmetic list that ranks compare, and
// the reference page docs/config.md.
#pragma once

#include <string>

#include "engine/config/train_config.h"

namespace ds {

/// Returns every key with its value, as TOML that reads back to an equal TrainConfig.
std::string to_toml(const TrainConfig& config);

/// Facts from outside the config that also decide bits.
struct ArithmeticFacts {
  std::string kernels;      // "cpu avx512-bf16"
  std::string libraries;    // "dslaunch 0.1.0, oneDNN 2.6.3"
  std::string data;         // DataPart::identity() of training and validation data
  std::string tokenizer{};  // its hash; empty: none, or bytes
};

/// Returns lines `name = value` of everything that decides the bits of the result and of nothing
/// else. Equal lists promise equal bits at any world size, with any paths and any threads.
std::string arithmetic_list(const TrainConfig& config, const ArithmeticFacts& facts);

/// Returns lines `name = value` of the keys that decide no bits but decide when ranks communicate.
/// Ranks that differ in them would wait for each other. Folders, threads and the like may differ
/// between nodes and are left out.
std::string message_order_list(const TrainConfig& config);

/// Returns the text of docs/config.md: one table per section, from the key table.
std::string config_reference();

}  // namespace ds
