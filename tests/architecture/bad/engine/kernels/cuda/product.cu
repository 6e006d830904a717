// A source of the plugin that no list names.
#include <cuda_runtime.h>
#include <cub/cub.cuh>

#include "engine/kernels/cuda/rows.cuh"
