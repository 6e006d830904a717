// The higher steps of the ladder: io_uring, with memory and files registered where that is allowed.
#pragma once

#include <memory>

#include "engine/storage/block_queue.h"
#include "engine/storage/uring_calls.h"

namespace ds {

class UringQueue : public BlockQueue {
 public:
  /// 0, or the errno with which the kernel refused; then none is registered.
  virtual int register_memory(std::span<const std::span<std::byte>> arenas) = 0;
};

/// Null, and `why_not` says why, where io_uring cannot be had.
std::unique_ptr<UringQueue> make_uring_queue(std::shared_ptr<const OpenFiles> files,
                                             Direction direction, int depth,
                                             const UringCalls& calls, std::string& why_not,
                                             Urgency urgency = Urgency::normal);

}  // namespace ds
