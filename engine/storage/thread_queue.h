// The lowest step of the ladder: a BlockQueue of threads that call pread or pwrite.
#pragma once

#include <memory>

#include "engine/storage/block_queue.h"

namespace ds {

/// Starts at most 8 threads per folder, which also limits the requests in the kernel at once.
std::unique_ptr<BlockQueue> make_thread_queue(std::shared_ptr<const OpenFiles> files,
                                              Direction direction, int depth,
                                              Urgency urgency = Urgency::normal);

}  // namespace ds
