// CUDA's language and runtime for g++: kernels become plain functions whose threads are fibers
// (tests/cuda_emulation).
#pragma once

#include "cuda_runtime_api.h"
#include "emulation/block.h"
#include "emulation/intrinsics.h"
#include "emulation/launch.h"
#include "emulation/warp.h"
#include "vector_functions.h"
