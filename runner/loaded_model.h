// LoadedModel: programs of a model in memory with its weights, ready to run.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "engine/execute/executor.h"
#include "engine/sample/bound_program.h"
#include "engine/sample/open_model.h"
#include "engine/train/rank_memory.h"

namespace ds {

class LoadedModel {
 public:
  /// `programs`: all over the model's weights; the first one reads all of them. Errors:
  /// Error{config}: weights that do not fit the program, or more than the memory holds.
  LoadedModel(const SampledModel& model, std::vector<Program> programs, Backend& backend);

  BoundProgram program(std::size_t i) { return {programs_[i], executors_[i]}; }

 private:
  std::vector<Program> programs_;
  std::optional<RankMemory> memory_;
  std::deque<Executor> executors_;
};

}  // namespace ds
