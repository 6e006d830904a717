// threadIdx and its kin.
#pragma once
#include "emulation/block.h"
