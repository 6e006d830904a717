// The higher steps of the ladder: io_uring, with registered memory and files where allowed.
#pragma once

#include <memory>

#include "engine/storage/block_queue.h"
#include "engine/storage/uring_calls.h"

namespace ds {

class UringQueue : public BlockQueue {
 public:
  /// Registers the buffers. Returns 0, or the errno of the refusal; then no buffer is registered.
  virtual int register_memory(std::span<const std::span<std::byte>> arenas) = 0;
};

/// Returns a queue, or null with the reason in `why_not` where io_uring is not available.
std::unique_ptr<UringQueue> make_uring_queue(std::shared_ptr<const OpenFiles> files,
                                             Direction direction, int depth,
                                             const UringCalls& calls, std::string& why_not,
                                             Urgency urgency = Urgency::normal);

}  // namespace ds
