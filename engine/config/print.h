// The config as text: the resolved config.toml, the arithmetic list that ranks compare, the
// reference page.
#pragma once

#include <string>

#include "engine/config/train_config.h"

namespace ds {

/// Every key with its value, as TOML that reads back to an equal TrainConfig.
std::string to_toml(const TrainConfig& config);

/// What is known outside the config and decides bits all the same.
struct ArithmeticFacts {
  std::string kernels;    // "cpu avx512-bf16"
  std::string libraries;  // "dslaunch 0.1.0, oneDNN 2.6.3"
  std::string data;       // Corpus::identity() of training and validation data
};

/// Canonical lines `name = value` of everything that decides the bits of the result, and of nothing
/// else: equal lists promise equal bits, whatever the world size, the paths, the threads.
std::string arithmetic_list(const TrainConfig& config, const ArithmeticFacts& facts);

/// The same of what decides no bits, but when ranks communicate: where it differs, they would wait
/// for each other. Folders, threads and the like may differ between nodes.
std::string message_order_list(const TrainConfig& config);

/// docs/config.md: one table per section, made from the key table.
std::string config_reference();

}  // namespace ds
