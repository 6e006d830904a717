// Types of driver functions that are looked up at run time.
#pragma once

#include "cuda.h"

using PFN_cuStreamWaitValue32_v11070 = decltype(&cuStreamWaitValue32);
using PFN_cuStreamWaitValue32 = PFN_cuStreamWaitValue32_v11070;
using PFN_cuStreamWriteValue32_v11070 = decltype(&cuStreamWriteValue32);
using PFN_cuStreamWriteValue32 = PFN_cuStreamWriteValue32_v11070;
