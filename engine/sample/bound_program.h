// BoundProgram: a program with the executor that runs it, and its inputs in memory.
#pragma once

#include <cstdint>

#include "engine/base/error.h"
#include "engine/execute/executor.h"
#include "engine/program/program.h"

namespace ds {

struct BoundProgram {
  const Program& program;
  Executor& executor;

  /// Returns the memory of an i32 input; null if the program does not read it. Programs share this
  /// memory, so it is written before each run.
  [[nodiscard]] std::int32_t* numbers(const char* name) const {
    const ValueId id = program.input(name);
    if (id == kNoValue) return nullptr;
    DS_ASSERT(executor.host_reaches(id));
    return static_cast<std::int32_t*>(executor.tensor(id).data);
  }
};

}  // namespace ds
