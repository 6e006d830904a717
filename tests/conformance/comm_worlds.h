// Worlds for tests of collectives: ranks as threads, each with its own Collectives.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/unique_fd.h"
#include "engine/comm/mesh/mesh_collectives.h"
#include "engine/comm/rendezvous.h"
#include "support/thread_collectives.h"

namespace ds::test {

using namespace std::chrono_literals;

inline Deadline soon() { return Deadline::after(60s); }

/// A port of 127.0.0.1 held like the launcher's agent does: bound with SO_REUSEADDR, not listening.
struct HeldPort {
  HeldPort() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw_errno("bind", errno);
    port = comm::local_endpoint(fd.get()).port;
  }
  UniqueFd fd;
  int port = 0;
};

/// Runs body(rank) on one thread per rank. Returns the errors by rank ("" for none).
inline std::vector<std::string> run_ranks(int size, const std::function<void(int)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

struct Backend {
  const char* name;
  /// Makes one Collectives for `rank` of a world, on the rank's thread. `shared` is made once per
  /// world.
  std::function<std::shared_ptr<void>(int size)> share;
  std::function<std::unique_ptr<Collectives>(void* shared, int rank, int size)> make;
};

/// `hang_after` applies to meshes.
inline Backend mesh_backend(const char* name, bool shared_memory, Clock::duration hang_after) {
  return {name, [](int) { return std::make_shared<HeldPort>(); },
          [=](void* shared, int rank, int size) {
            return make_collectives({.rank = rank,
                                     .world_size = size,
                                     .master_addr = "127.0.0.1",
                                     .master_port = static_cast<HeldPort*>(shared)->port,
                                     .job_id = "test",
                                     .job_key = "00ff",
                                     .timeout = 60s,
                                     .hang_after = hang_after,
                                     .shared_memory = shared_memory});
          }};
}

inline std::vector<Backend> backends(Clock::duration hang_after = 20s) {
  return {
      {"threads",
       [](int size) {
         return std::make_shared<std::shared_ptr<ThreadWorld>>(std::make_shared<ThreadWorld>(size));
       },
       [](void* shared, int rank, int) -> std::unique_ptr<Collectives> {
         return std::make_unique<ThreadCollectives>(
             *static_cast<std::shared_ptr<ThreadWorld>*>(shared), rank);
       }},
      mesh_backend("mesh", true, hang_after),
      mesh_backend("mesh over TCP", false, hang_after)};
}

/// Returns the backends that this program tests; defined in host_worlds.cpp or nccl_worlds.cpp.
std::vector<Backend> moving_backends(Clock::duration hang_after = 20s);

inline GroupSpec world_of(int size) {
  GroupSpec spec{.name = "world", .epoch = 0, .ranks = {}};
  for (int rank = 0; rank < size; ++rank) spec.ranks.push_back(rank);
  return spec;
}

/// Runs body(collectives, group of all ranks) on every rank.
inline std::vector<std::string> run_world(const Backend& backend, int size,
                                          const std::function<void(Collectives&, Group&)>& body) {
  const std::shared_ptr<void> shared = backend.share(size);
  return run_ranks(size, [&](int rank) {
    const std::unique_ptr<Collectives> collectives = backend.make(shared.get(), rank, size);
    const std::unique_ptr<Group> group = collectives->make_group(world_of(size), soon());
    body(*collectives, *group);
  });
}

}  // namespace ds::test
