// The fake cuBLASLt's arithmetic.
#pragma once

#include "problem.h"

namespace fake_cublaslt {

/// A launch with everything that it needs, since descriptors may change before it runs.
struct Launch {
  Problem problem;
  Choice choice;
  float alpha = 1, beta = 0;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void *d = nullptr, *workspace = nullptr;
  bool reachable = true;
};

/// Whether all memory that it reads or writes is the device's, or registered.
bool all_reachable(const Launch& launch);

/// cudaErrorIllegalAddress when it was not reachable.
cudaError_t compute(const Launch& launch);

}  // namespace fake_cublaslt
