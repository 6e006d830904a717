// Tests of the NCCL groups: operations are only issued, their time counts from when the stream
// reaches them, and failures name ranks, operation and group.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "conformance/comm_worlds.h"
#include "conformance/staged_group.h"
#include "engine/base/error.h"
#include "engine/comm/pieces.h"

using namespace ds;
using namespace ds::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Faults that the fake NCCL injects into groups that start during this object's lifetime.
struct Trouble {
  explicit Trouble(const char* what) { ::setenv("DS_FAKE_NCCL", what, 1); }
  ~Trouble() { ::unsetenv("DS_FAKE_NCCL"); }
  Trouble(const Trouble&) = delete;
};

// A rank's group on a stream that the test waits for, as the executor does.
struct OnStream {
  OnStream(Collectives& collectives, Group& world)
      : device(dynamic_cast<StagedCollectives&>(collectives).device()),
        stream(device.make_stream()),
        group(dynamic_cast<StagedGroup&>(world).inner()),
        memory(device.allocate(Tier::device, kBytes * kMost)) {
    group.run_on(*stream);
  }
  std::span<std::byte> part(std::size_t index) { return {memory->data() + index * kBytes, kBytes}; }
  // Gathers in place, `kBytes` in total.
  void gather(std::size_t index, Deadline deadline) {
    const auto size = static_cast<std::size_t>(group.size());
    group.all_gather(cut_pieces(part(index).first(size * 100), size), deadline);
  }
  void wait() {
    stream->synchronize();
    group.raise_failure();
  }
  static constexpr std::size_t kBytes = 400, kMost = 200;
  Device& device;
  std::unique_ptr<Stream> stream;
  Group& group;
  std::unique_ptr<Arena> memory;
};

// Returns the errors of the ranks' bodies by rank. All ranks stay until the last has finished.
std::vector<std::string> errors_of(int size, Clock::duration hang_after,
                                   const std::function<void(Collectives&, OnStream&)>& body) {
  std::latch over(size);
  std::vector<std::string> messages(static_cast<std::size_t>(size));
  const auto errors =
      run_world(moving_backends(hang_after)[0], size, [&](Collectives& collectives, Group& world) {
        OnStream here(collectives, world);
        try {
          body(collectives, here);
        } catch (const Error& error) {
          CHECK(error.kind() == ErrorKind::comm);
          messages[static_cast<std::size_t>(world.rank())] = error.what();
        }
        over.arrive_and_wait();
      });
  CHECK(errors == std::vector<std::string>(static_cast<std::size_t>(size)));
  return messages;
}

}  // namespace

TEST_CASE("an operation is issued without its peers, and runs when its stream reaches it") {
  std::latch issued(1);
  const auto errors = errors_of(2, 20s, [&](Collectives&, OnStream& here) {
    const auto rank = static_cast<std::size_t>(here.group.rank());
    if (rank == 1) issued.wait();
    const std::vector<std::byte> own(100, static_cast<std::byte>(7 + rank));
    here.device.copy(here.part(0).data() + rank * 100, own.data(), own.size(), *here.stream);
    here.gather(0, soon());
    if (rank == 0) issued.count_down();
    std::vector<std::byte> all(200);
    here.device.copy(all.data(), here.part(0).data(), all.size(), *here.stream);
    here.wait();
    if (all[0] != std::byte{7} || all[199] != std::byte{8}) throw std::runtime_error("wrong bytes");
  });
  CHECK(errors == std::vector<std::string>(2));
}

TEST_CASE("issuing may run far ahead of the stream") {
  const auto errors = errors_of(2, 20s, [&](Collectives&, OnStream& here) {
    const auto rank = static_cast<std::size_t>(here.group.rank());
    for (std::size_t i = 0; i < OnStream::kMost; ++i) {
      const std::vector<std::byte> own(100, static_cast<std::byte>(i + rank));
      here.device.copy(here.part(i).data() + rank * 100, own.data(), own.size(), *here.stream);
      here.gather(i, soon());
    }
    std::vector<std::byte> all(OnStream::kBytes * OnStream::kMost);
    here.device.copy(all.data(), here.memory->data(), all.size(), *here.stream);
    here.wait();
    for (std::size_t i = 0; i < OnStream::kMost; ++i) {
      if (all[i * OnStream::kBytes] != static_cast<std::byte>(i) ||
          all[i * OnStream::kBytes + 100] != static_cast<std::byte>(i + 1))
        throw std::runtime_error("wrong bytes");
    }
  });
  CHECK(errors == std::vector<std::string>(2));
}

TEST_CASE("a missing rank is named, the stream is released, the group stays unusable") {
  std::vector<std::string> later(3);
  const auto errors = errors_of(3, 20s, [&](Collectives&, OnStream& here) {
    here.gather(0, soon());
    here.wait();
    if (here.group.rank() == 2) return;
    here.group.about("gather.block3");
    here.gather(1, Deadline::after(300ms));
    try {
      here.wait();
    } catch (const Error&) {
      try {
        here.group.barrier(soon());
      } catch (const Error& error) {
        later[static_cast<std::size_t>(here.group.rank())] = error.what();
      }
      throw;
    }
  });
  for (const std::size_t rank : {0U, 1U}) {
    const std::string& message = errors[rank];
    const std::string head =
        fmt::format("rank {} (of group world): all_gather gather.block3: ", rank);
    CHECK_MESSAGE(message.starts_with(head), message);
    CHECK_MESSAGE(contains(message, "no answer after "), message);
    CHECK_MESSAGE(contains(later[rank], "barrier: the group had already failed: rank"),
                  later[rank]);
  }
  CHECK_MESSAGE(contains(errors[0] + errors[1], "rank 2 after "), errors[0]);
}

TEST_CASE("if ranks issue different operations, the error comes long before the deadline") {
  const auto errors = errors_of(2, 20s, [&](Collectives&, OnStream& here) {
    here.group.about("gather.block3");
    if (here.group.rank() == 0) {
      here.gather(0, Deadline::after(3600s));
    } else {
      const std::span<const std::byte> out[] = {here.part(1), here.part(1)};
      const std::span<std::byte> in[] = {here.part(2), here.part(3)};
      here.group.all_to_all(out, in, Deadline::after(3600s));
    }
    here.wait();
  });
  const std::string both = errors[0] + "\n" + errors[1];
  CHECK_MESSAGE(contains(both, "all_gather gather.block3"), both);
  CHECK_MESSAGE(contains(both, "all_to_all gather.block3"), both);
  CHECK_MESSAGE(contains(both, "the ranks issue different operations"), both);
}

TEST_CASE("a rank that loops forever in one op is named with the op") {
  const auto errors = errors_of(3, 1s, [&](Collectives& collectives, OnStream& here) {
    if (here.group.rank() == 2) return collectives.activity().begin("block5.mlp");
    here.gather(0, Deadline::after(3600s));
    here.wait();
  });
  const std::string both = errors[0] + "\n" + errors[1];
  CHECK_MESSAGE(contains(both, "rank 2 is behind: it is in block5.mlp"), both);
}

TEST_CASE("an error of NCCL is reported with its text, and the other ranks learn of it") {
  const Trouble trouble("error=1:2");
  const auto errors = errors_of(3, 20s, [&](Collectives&, OnStream& here) {
    here.gather(0, soon());
    here.wait();
    here.group.about("reduce.block1");
    here.gather(1, Deadline::after(3600s));
    here.wait();
  });
  CHECK_MESSAGE(
      contains(errors[1],
               "rank 1 (of group world): all_gather reduce.block1: remote process exited or there "
               "was a network error (NCCL says: fake: a peer has closed the connection)"),
      errors[1]);
  for (const std::size_t rank : {0U, 2U})
    CHECK_MESSAGE(contains(errors[rank], "rank 1 has given up: rank 1 (of group world): "),
                  errors[rank]);
}

TEST_CASE("a call that NCCL refuses is an immediate error") {
  const Trouble trouble("refuse=0:2");
  const auto errors = errors_of(2, 20s, [&](Collectives&, OnStream& here) {
    here.gather(0, soon());
    if (here.group.rank() == 0) here.group.about("gather.block9");
    here.gather(1, Deadline::after(3600s));
    here.wait();
  });
  CHECK_MESSAGE(contains(errors[0],
                         "rank 0 (of group world): all_gather gather.block9: internal error (NCCL "
                         "says: fake: refused)"),
                errors[0]);
  CHECK_MESSAGE(contains(errors[1], "rank 0 has given up"), errors[1]);
}

TEST_CASE("abort releases a waiting stream locally, and soon at the peers") {
  const Trouble trouble("stop=1:1");
  const auto errors = errors_of(2, 20s, [&](Collectives&, OnStream& here) {
    std::thread aborter;
    here.gather(0, Deadline::after(3600s));
    if (here.group.rank() == 0) {
      aborter = std::thread([&] { here.group.abort(); });
      here.stream->synchronize();
      aborter.join();
    }
    here.wait();
  });
  CHECK_MESSAGE(contains(errors[0], "the group was aborted"), errors[0]);
  CHECK_MESSAGE(contains(errors[1],
                         "rank 0 has given up: rank 0 (of group world): all_gather: "
                         "the group was aborted"),
                errors[1]);
}

TEST_CASE("if one rank cannot start, all ranks fail and name it") {
  const Trouble trouble("silent=1");
  const Backend backend = moving_backends()[0];
  const std::shared_ptr<void> shared = backend.share(3);
  const auto errors = run_ranks(3, [&](int rank) {
    const auto collectives = backend.make(shared.get(), rank, 3);
    static_cast<void>(collectives->make_group(world_of(3), Deadline::after(2s)));
  });
  for (const std::string& message : errors) {
    CHECK_MESSAGE(contains(message, "(of group world): NCCL did not start: rank 1: no answer "),
                  message);
    CHECK_MESSAGE(contains(message, "NCCL is still starting"), message);
  }
}
