// Host memory that the GPU reaches too, by the same addresses.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/device/device.h"

namespace ds::cuda {

/// Exactly `bytes`, in whole pages: no allocator rounds it up to a power of two. Its pages are
/// touched by several threads, since a large area takes minutes otherwise.
/// Errors: Error{config} naming `bytes` when the memory cannot be had or pinned.
std::unique_ptr<Arena> make_pinned_arena(std::size_t bytes);

/// Threads that touch the pages of an area. Pure.
int touching_threads(std::size_t bytes, int cpus);

}  // namespace ds::cuda
