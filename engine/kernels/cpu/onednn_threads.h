// Keeps oneDNN's own OpenMP threads away: the engine's pool is the only source of parallelism.
#pragma once

namespace ds::cpu {

/// For the calling thread: oneDNN creates and runs primitives with one thread from here on.
void use_one_onednn_thread();

}  // namespace ds::cpu
