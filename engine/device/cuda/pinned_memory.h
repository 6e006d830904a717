// Allocates pinned host memory that the GPU accesses by the same addresses.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/device/device.h"

namespace ds::cuda {

/// Returns an arena of exactly `bytes`, in whole pages: no allocator rounds it up to a power of
/// two. Several threads touch its pages, because a large area would otherwise take minutes.
/// Errors: Error{config} naming `bytes` if the memory cannot be allocated or pinned.
std::unique_ptr<Arena> make_pinned_arena(std::size_t bytes);

/// Returns the number of threads that touch the pages of an area. Pure.
int touching_threads(std::size_t bytes, int cpus);

}  // namespace ds::cuda
