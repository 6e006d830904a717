// Rank of a job that only runs collectives, for end-to-end tests; reads plain variables.
// Usage: comm_rank once | for-ever SECONDS | free-port
//   once      exchanges and checks a few megabytes, then prints "rank R of W: all bytes arrived"
//   for-ever  exchanges until an error ends it; SECONDS is the deadline of each exchange
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/comm/mesh/socket.h"
#include "engine/comm/notes.h"
#include "engine/comm/pieces.h"
#include "engine/comm/rendezvous.h"
#include "runner/rank_env.h"

using namespace ds;

namespace {

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(rank);
  return ranks;
}

// A deadline begins with the operation that it is of: a rank may be suspended at any moment before.
std::uint8_t count_ranks(Group& group, Clock::duration limit) {
  std::byte count{1};
  const auto add = [](std::span<std::byte> left, std::span<const std::byte> right) {
    left[0] =
        static_cast<std::byte>(std::to_integer<int>(left[0]) + std::to_integer<int>(right[0]));
  };
  group.combine({&count, 1}, add, Deadline::after(limit));
  return std::to_integer<std::uint8_t>(count);
}

void exchange_bytes(Group& group, Clock::duration limit) {
  const auto size = static_cast<std::size_t>(group.size());
  constexpr std::size_t kBytes = 1'000'003;
  std::vector<std::byte> all(size * kBytes);
  std::memset(all.data() + static_cast<std::size_t>(group.rank()) * kBytes, group.rank() + 1,
              kBytes);
  group.all_gather(cut_pieces(std::span(all), size), Deadline::after(limit));
  for (std::size_t i = 0; i < all.size(); ++i) {
    DS_ASSERT(all[i] == static_cast<std::byte>(i / kBytes + 1), "every rank's bytes arrived");
  }
}

void run(const std::string& mode, double seconds) {
  const RankEnv env = parse_rank_env(::getenv);
  const auto limit =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const auto collectives = make_collectives(env.rendezvous(std::chrono::seconds(20)));
  const auto group = collectives->make_group({"world", env.epoch, all_ranks(env.world_size)},
                                             Deadline::after(std::chrono::seconds(20)));
  require_agreement(*group, "build", "comm_rank 1", Deadline::after(limit));
  for (std::int64_t step = 0; mode == "for-ever" || step < 3; ++step) {
    DS_ASSERT(count_ranks(*group, limit) == env.world_size);
    exchange_bytes(*group, limit);
    if (step == 0 && mode == "for-ever") {
      fmt::print("ready\n");
      std::fflush(stdout);
    }
  }
  group->barrier(Deadline::after(limit));
  fmt::print("rank {} of {}: all bytes arrived\n", env.rank, env.world_size);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "once";
  try {
    if (mode == "free-port") {
      fmt::print("{}\n", comm::local_endpoint(comm::listen_on({"127.0.0.1", 0}).get()).port);
      return 0;
    }
    run(mode, argc > 2 ? std::atof(argv[2]) : 20);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.for_people());
    return contract::exit_code(error.kind());
  }
}
