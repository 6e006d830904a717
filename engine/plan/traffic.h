// Traffic: what one rank's program moves in a step, by link.
#pragma once

#include "engine/program/passes.h"

namespace ds {

/// Bytes of one rank and one step. Network: bytes that collectives send to and receive from other
/// ranks, with those on the same node counted separately. The control word (under 1 KiB) is left
/// out.
struct Traffic {
  std::int64_t sent_in_node = 0, sent_to_nodes = 0;
  std::int64_t received_in_node = 0, received_from_nodes = 0;
  std::int64_t to_host = 0, to_device = 0;       // between device and host memory
  std::int64_t nvme_read = 0, nvme_written = 0;  // between host memory and files
  /// Read and written by the optimizer's ops, by memory.
  std::int64_t optimizer_device = 0, optimizer_host = 0;

  [[nodiscard]] std::int64_t sent() const { return sent_in_node + sent_to_nodes; }
  [[nodiscard]] std::int64_t received() const { return received_in_node + received_from_nodes; }
};

/// Counts the traffic in a walk over the ops. `slots`: ranks per node; ranks are dealt node by
/// node. Pure.
Traffic traffic_of(const Program& step, const ShardSpec& spec, int slots);

}  // namespace ds
