// Chooses a backend by the preprocessor.
#pragma once
#ifdef DS_WITH_CUDA
int devices();
#endif
