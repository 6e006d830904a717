// freeze(): which parameters train.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace ds {

/// Returns the model whose tensors with names that match one of the patterns (fnmatch(3)) are
/// frozen. The frozen tensors of a group become a group of their own, NAME.frozen, so that all of a
/// group trains or nothing. Without patterns the model stays as it is. Pure.
/// Errors: Error{config}: a pattern that matches no tensor; nothing trains.
Program freeze(Program model, const std::vector<std::string>& patterns);

/// As freeze(), but the patterns say what trains: adapters, and what lora.train lists.
Program freeze_all_but(Program model, const std::vector<std::string>& patterns);

/// The numbers of parameters that train and that do not.
struct TrainedCount {
  std::int64_t trained = 0, frozen = 0;
};
TrainedCount trained_count(const Program& program);

}  // namespace ds
