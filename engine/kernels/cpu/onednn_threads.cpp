// use_one_onednn_thread(): the only file that calls OpenMP.
#include "engine/kernels/cpu/onednn_threads.h"

#include <omp.h>

namespace ds::cpu {

void use_one_onednn_thread() { omp_set_num_threads(1); }

}  // namespace ds::cpu
