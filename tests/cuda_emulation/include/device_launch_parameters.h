// threadIdx, blockIdx, blockDim and gridDim.
#pragma once
#include "emulation/block.h"
