// The lowest step of the ladder: a few threads that call pread or pwrite.
#pragma once

#include <memory>

#include "engine/storage/block_queue.h"

namespace ds {

/// At most 8 threads a folder, so no more blocks are with the system at once.
std::unique_ptr<BlockQueue> make_thread_queue(std::shared_ptr<const OpenFiles> files,
                                              Direction direction, int depth,
                                              Urgency urgency = Urgency::normal);

}  // namespace ds
