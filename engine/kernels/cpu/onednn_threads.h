// Turns off oneDNN's own OpenMP threads: the engine's pool is the only source of parallelism.
#pragma once

namespace ds::cpu {

/// Makes oneDNN create and run primitives with one thread in the calling thread from here on.
void use_one_onednn_thread();

}  // namespace ds::cpu
