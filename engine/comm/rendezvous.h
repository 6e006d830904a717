// Rendezvous: how the processes of a job find each other, and make_collectives().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/deadline.h"
#include "engine/comm/collectives.h"
#include "engine/comm/slow_wire.h"

namespace ds {

struct Rendezvous {
  int rank = 0;
  int world_size = 1;
  std::string master_addr{};  // where rank 0 serves the coordinator
  int master_port = 0;
  std::string job_id{};
  std::string job_key{};  // hexadecimal; empty for none
  std::uint64_t epoch = 0;
  Clock::duration timeout = std::chrono::seconds(60);  // every rank must have arrived by then
  /// Collectives fail when a rank is silent, or no rank makes progress, for this long.
  Clock::duration hang_after = std::chrono::seconds(20);
  std::optional<WireSpeed> test_wire{};  // slows the network, for measurements
  bool shared_memory = true;  // false: TCP also between ranks of one machine, for measurements
};

/// Makes the collectives: without sockets for a world of 1, over a mesh of links otherwise. Errors:
/// Error{comm} when rank 0 does not answer in time, or refuses the job key or the job.
std::unique_ptr<Collectives> make_collectives(const Rendezvous& rendezvous);

}  // namespace ds
