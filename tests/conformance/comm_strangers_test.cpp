// Tests of meshes alone: unrelated clients that connect while one is built, short pieces of many
// ranks, memory of a peer that cannot be read.
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "conformance/comm_worlds.h"
#include "engine/comm/mesh/mesh_group.h"
#include "engine/comm/pieces.h"
#include "support/wait_readable.h"

using namespace ds;
using namespace ds::test;

namespace {

// Connects repeatedly to a rank, each time with different data, until told to stop.
class Stranger {
 public:
  explicit Stranger(int port) : thread_([this, port] { run(port); }) {}
  ~Stranger() {
    stop_ = true;
    thread_.join();
  }
  Stranger(const Stranger&) = delete;
  int visits() const { return visits_; }

 private:
  void run(int port) {
    const std::string sayings[] = {"", "GET / HTTP/1.0\r\n\r\n", std::string(5000, '\xff'),
                                   "dslink2\n", "dslink2\n" + std::string(200, 'x')};
    std::vector<UniqueFd> lingering;
    while (!stop_) {
      try {
        UniqueFd fd = comm::dial({"127.0.0.1", port}, Deadline::after(1s));
        const std::string& saying = sayings[static_cast<std::size_t>(visits_) % std::size(sayings)];
        static_cast<void>(::send(fd.get(), saying.data(), saying.size(), MSG_NOSIGNAL));
        lingering.push_back(std::move(fd));
        if (lingering.size() > 40) lingering.erase(lingering.begin(), lingering.begin() + 20);
        ++visits_;
        // Frequent enough to hit every stage of the rendezvous without exhausting this machine's
        // ports.
        ::poll(nullptr, 0, 1);
      } catch (const Error&) {
        continue;  // the rank does not listen yet, or no longer
      }
    }
  }
  std::atomic<bool> stop_ = false;
  std::atomic<int> visits_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_CASE("unrelated clients at every rank do not disturb the mesh") {
  for (int round = 0; round < 3; ++round) {
    const HeldPort port;
    Stranger at_rank_0(port.port);
    std::atomic<int> visits = 0;
    const auto errors = run_ranks(3, [&](int rank) {
      comm::MeshCollectives collectives({.rank = rank,
                                         .world_size = 3,
                                         .master_addr = "127.0.0.1",
                                         .master_port = port.port,
                                         .job_id = "job",
                                         .job_key = "0123",
                                         .timeout = 60s});
      Stranger at_rank(collectives.endpoint().port);
      const auto group = collectives.make_group(world_of(3), soon());
      for (int i = 0; i < 20; ++i) {
        std::vector<std::byte> all(30'000, static_cast<std::byte>(rank));
        group->all_gather(cut_pieces(std::span(all), 3), soon());
        for (std::size_t at = 0; at < all.size(); ++at) {
          if (all[at] != static_cast<std::byte>(at / 10'000))
            throw std::runtime_error("wrong bytes");
        }
      }
      group->barrier(soon());
      visits += at_rank.visits();
    });
    CHECK(errors == std::vector<std::string>(3));
    CHECK(visits + at_rank_0.visits() > 0);
  }
}

namespace {

// Creates two groups of one world, joined by real links.
std::vector<std::unique_ptr<comm::MeshGroup>> pair_of_groups() {
  const UniqueFd listener = comm::listen_on({"127.0.0.1", 0});
  UniqueFd dialed = comm::dial(comm::local_endpoint(listener.get()), soon());
  REQUIRE(wait_readable(listener.get(), soon()));
  UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  std::vector<std::unique_ptr<comm::MeshGroup>> groups;
  for (int rank = 0; rank < 2; ++rank) {
    comm::MeshGroup::Parts parts{.spec = world_of(2),
                                 .rank = rank,
                                 .links = std::vector<UniqueFd>(2),
                                 .memories = {},
                                 .memory = nullptr,
                                 .coordinator = nullptr,
                                 .guard = nullptr,
                                 .wire = nullptr,
                                 .mesh = ""};
    parts.links[static_cast<std::size_t>(1 - rank)] = std::move(rank == 0 ? dialed : accepted);
    groups.push_back(std::make_unique<comm::MeshGroup>(std::move(parts)));
  }
  return groups;
}

}  // namespace

TEST_CASE("a message of an unexpected length is never delivered") {
  const auto groups = pair_of_groups();
  const auto errors = run_ranks(2, [&](int rank) {
    std::vector<std::byte> data(rank == 0 ? 100 : 50);
    std::array<std::span<const std::byte>, 2> out{};
    std::array<std::span<std::byte>, 2> in{};
    rank == 0 ? void(out[1] = data) : void(in[0] = data);
    groups[static_cast<std::size_t>(rank)]->all_to_all(out, in,
                                                       rank == 0 ? soon() : Deadline::after(200ms));
  });
  CHECK_MESSAGE(errors[1].find("no answer from rank 0") != std::string::npos, errors[1]);
}

TEST_CASE(
    "among more ranks than 8: gathered pieces arrive, also empty ones; values are combined in "
    "order") {
  const auto errors = run_world(backends()[1], 11, [](Collectives&, Group& group) {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::vector<std::byte>> memory;
      std::vector<std::span<std::byte>> pieces;
      for (int rank = 0; rank < group.size(); ++rank) {
        const auto value = static_cast<std::byte>(rank == group.rank() ? rank + 1 : 0);
        memory.emplace_back(static_cast<std::size_t>((rank + round) % 3) * 100, value);
      }
      for (std::vector<std::byte>& each : memory) pieces.emplace_back(each);
      group.all_gather(pieces, soon());
      for (std::size_t rank = 0; rank < memory.size(); ++rank) {
        if (std::ranges::count(memory[rank], static_cast<std::byte>(rank + 1)) !=
            std::ssize(memory[rank]))
          throw std::runtime_error("wrong bytes");
      }
      std::array<std::byte, 100> values{};
      values[0] = static_cast<std::byte>(group.rank() + round);
      values[99] = std::byte{1};  // how many values there are
      const auto append = [](std::span<std::byte> left, std::span<const std::byte> right) {
        const auto count = std::to_integer<std::size_t>(left[99]);
        const auto more = std::to_integer<std::size_t>(right[99]);
        std::ranges::copy(right.first(more), left.begin() + static_cast<std::ptrdiff_t>(count));
        left[99] = static_cast<std::byte>(count + more);
      };
      group.combine(values, append, soon());
      for (int rank = 0; rank < group.size(); ++rank) {
        if (values[static_cast<std::size_t>(rank)] != static_cast<std::byte>(rank + round))
          throw std::runtime_error("wrong order");
      }
      group.barrier(soon());
    }
  });
  CHECK(errors == std::vector<std::string>(11));
}
