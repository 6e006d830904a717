// Tests of StartVote: what each rank reports when the start of one or several of them fails.
#include "engine/train/start_vote.h"

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/thread_collectives.h"

using namespace ds;

namespace {

struct Heard {
  std::string what{};
  std::optional<ErrorKind> kind{};
  bool leaving = false;
  std::int64_t bytes = 0;
};

/// Returns what each of three ranks reports. `work` runs on each.
std::vector<Heard> vote(const std::function<void(int rank, SaveOutcome&)>& work) {
  constexpr int kRanks = 3;
  const auto world = std::make_shared<test::ThreadWorld>(kRanks);
  std::vector<Heard> heard(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      test::ThreadCollectives collectives(world, rank);
      const auto group = collectives.make_group({.name = "world", .epoch = 0, .ranks = {0, 1, 2}},
                                                Deadline::after(std::chrono::seconds(20)));
      std::atomic<bool> leaving = false;
      Heard& own = heard[static_cast<std::size_t>(rank)];
      try {
        StartVote start(*group, &leaving);
        own.bytes =
            start.together("start", [&](SaveOutcome& outcome) { work(rank, outcome); }).bytes;
      } catch (const Error& error) {
        own.what = error.what();
        own.kind = error.kind();
      }
      own.leaving = leaving;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return heard;
}

}  // namespace

TEST_CASE("a start that succeeds everywhere goes on with the outcomes of all ranks") {
  for (const Heard& rank : vote([](int, SaveOutcome& outcome) { outcome.bytes = 7; })) {
    CHECK(rank.bytes == 21);
    CHECK(!rank.kind);
    CHECK(!rank.leaving);
  }
}

TEST_CASE("the rank that fails reports its own error, and the others name it") {
  for (const ErrorKind kind : {ErrorKind::config, ErrorKind::system, ErrorKind::bug}) {
    for (int failing = 0; failing < 3; ++failing) {
      const std::vector<Heard> heard = vote([&](int rank, SaveOutcome&) {
        if (rank == failing) throw Error(kind, "no room");
      });
      for (int rank = 0; rank < 3; ++rank) {
        const Heard& own = heard[static_cast<std::size_t>(rank)];
        CAPTURE(rank);
        CHECK(own.leaving == (rank == failing));
        CHECK(own.kind == (rank == failing ? kind : ErrorKind::comm));
        CHECK(own.what == (rank == failing
                               ? "no room"
                               : fmt::format("rank {} could not start: no room", failing)));
      }
    }
  }
}

TEST_CASE("of several ranks that fail each reports its own error, and the others the first one") {
  const std::vector<Heard> heard = vote([](int rank, SaveOutcome&) {
    if (rank > 0) throw std::bad_alloc();
  });
  CHECK(heard[1].kind == ErrorKind::system);
  CHECK(heard[2].kind == ErrorKind::system);
  CHECK(heard[0].what.find("rank 1 could not start: ") == 0);
}
