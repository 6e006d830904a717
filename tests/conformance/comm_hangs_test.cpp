// Tests of ranks that never meet: they fail with an error that says why, long before any deadline.
#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "conformance/comm_worlds.h"
#include "engine/base/error.h"
#include "engine/comm/pieces.h"

using namespace ds;
using namespace ds::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void gather(Group& group, std::size_t bytes) {
  std::vector<std::byte> all(static_cast<std::size_t>(group.size()) * bytes);
  group.all_gather(cut_pieces(std::span(all), static_cast<std::size_t>(group.size())),
                   Deadline::after(3600s));
}

// Returns the joined errors of the first two of three ranks; the third runs `other` and then stays.
std::string errors_with(const Backend& backend, const std::function<void(Group&)>& both,
                        const std::function<void(Collectives&, Group&)>& other) {
  std::vector<std::string> messages(3);
  std::latch over(3);
  const auto errors = run_world(backend, 3, [&](Collectives& collectives, Group& group) {
    group.barrier(soon());
    try {
      group.rank() == 2 ? other(collectives, group) : both(group);
    } catch (const Error& error) {
      messages[static_cast<std::size_t>(group.rank())] = error.what();
    }
    over.arrive_and_wait();
  });
  CHECK(errors == std::vector<std::string>(3));
  CHECK(!messages[0].empty());
  CHECK(!messages[1].empty());
  return messages[0] + "\n" + messages[1];
}

}  // namespace

TEST_CASE("if ranks issue different operations, the error names the operations and the ranks") {
  for (const Backend& backend : backends()) {
    CAPTURE(std::string(backend.name));
    const std::string kinds = errors_with(
        backend, [](Group& group) { gather(group, 100); },
        [](Collectives&, Group& group) { group.barrier(Deadline::after(3600s)); });
    CHECK_MESSAGE(contains(kinds, "all_gather"), kinds);
    CHECK_MESSAGE(contains(kinds, "barrier"), kinds);
    CHECK_MESSAGE(contains(kinds, "rank 2"), kinds);
    const auto gather_for = [](const char* path) {
      return [path](Group& group) {
        group.about(path);
        gather(group, 100);
      };
    };
    const auto odd = gather_for("gather.block4");
    const std::string paths = errors_with(backend, gather_for("gather.block3"),
                                          [odd](Collectives&, Group& group) { odd(group); });
    CHECK_MESSAGE(contains(paths, "all_gather gather.block3"), paths);
    CHECK_MESSAGE(contains(paths, "all_gather gather.block4"), paths);
  }
}

TEST_CASE("if ranks disagree about sizes, the error says so, and a short message is not accepted") {
  const std::string sizes = errors_with(
      backends()[1], [](Group& group) { gather(group, 100); },
      [](Collectives&, Group& group) { gather(group, 99); });
  CHECK_MESSAGE(contains(sizes, "disagree about the sizes of all_gather (number 2)"), sizes);
}

TEST_CASE("a rank that loops forever in one op is named with the op") {
  const Backend mesh = backends(1s)[1];
  const std::string busy = errors_with(
      mesh, [](Group& group) { gather(group, 100); },
      [](Collectives& collectives, Group&) { collectives.activity().begin("block5.mlp"); });
  CHECK_MESSAGE(contains(busy, "rank 2 is behind: it is in block5.mlp"), busy);
}

TEST_CASE("a rank that makes progress is waited for as long as it takes") {
  const Backend mesh = backends(1s)[1];
  const auto errors = run_world(mesh, 3, [](Collectives& collectives, Group& group) {
    for (int op = 0; op < 100 && group.rank() == 2; ++op) {
      collectives.activity().begin("block5.mlp");
      std::this_thread::sleep_for(20ms);
    }
    gather(group, 100);
    group.barrier(soon());
  });
  CHECK(errors == std::vector<std::string>(3));
}

TEST_CASE("one long op that reports what it computes is waited for") {
  const Backend mesh = backends(1s)[1];
  const auto errors = run_world(mesh, 3, [](Collectives& collectives, Group& group) {
    std::atomic<std::uint64_t> tiles = 0;
    collectives.activity().follow([&] { return tiles.load(); });
    if (group.rank() == 2) collectives.activity().begin("block5.mlp");
    for (int tile = 0; tile < 100 && group.rank() == 2; ++tile) {
      ++tiles;
      std::this_thread::sleep_for(20ms);
    }
    gather(group, 100);
    collectives.activity().follow({});
    group.barrier(soon());
  });
  CHECK(errors == std::vector<std::string>(3));
}
