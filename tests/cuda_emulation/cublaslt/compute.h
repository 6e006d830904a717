// compute(): arithmetic of the fake cuBLASLt.
#pragma once

#include "problem.h"

namespace fake_cublaslt {

/// A launch with copies of everything it needs, since descriptors may change before it runs.
struct Launch {
  Problem problem;
  Choice choice;
  float alpha = 1, beta = 0;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void *d = nullptr, *workspace = nullptr;
  bool reachable = true;
};

/// Returns whether all memory that it accesses is device memory or registered.
bool all_reachable(const Launch& launch);

/// Runs the launch; returns cudaErrorIllegalAddress if memory was not reachable.
cudaError_t compute(const Launch& launch);

}  // namespace fake_cublaslt
