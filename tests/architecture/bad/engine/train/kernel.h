// A header of everybody's that needs CUDA to be read.
#pragma once
#include <cuda_runtime.h>

#include "engine/kernels/cuda/rows.cuh"
