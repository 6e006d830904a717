#pragma once
// A header for kernels that reads the wrong library, and says its purpose too late.
#include <gloo/context.h>
