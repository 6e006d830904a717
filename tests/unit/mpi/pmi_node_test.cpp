// Tests one node: its key-value space, fences, and ranks that break the protocol.
#include "launcher/mpi/pmi_node.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

const ds::Clock::time_point kStart{1h};

/// A node with ranks 4, 5, ... of 8, all of them after `init`.
PmiNode node_of(int ranks) {
  Spec spec;
  spec.mpi = {.wire = MpiWire::pmi1, .size = 8, .process_mapping = "(vector,(0,2,4))"};
  for (int i = 0; i < ranks; ++i) spec.ranks.push_back({.rank = 4 + i, .local_rank = i, .env = {}});
  PmiNode node(spec, "kvs");
  for (std::size_t i = 0; i < static_cast<std::size_t>(ranks); ++i)
    node.take(i, "cmd=init pmi_version=1 pmi_subversion=1\n", kStart);
  node.take_answers();
  return node;
}

std::string answers_of(PmiNode& node) {
  std::string text;
  for (const PmiNode::Answer& answer : node.take_answers())
    text += fmt::format("{}{}: {}", answer.index, answer.close ? " closed" : "", answer.text);
  return text;
}

std::string ask(PmiNode& node, std::size_t index, const std::string& request) {
  node.take(index, request + "\n", kStart);
  return answers_of(node);
}

std::string packed(const KeyValues& pairs) { return cut_pairs(pairs).front(); }

constexpr const char* kGood = "0: cmd=put_result rc=0 msg=success\n";

}  // namespace

TEST_CASE("what a rank puts, ranks of its node find; others after the fence") {
  PmiNode node = node_of(2);
  CHECK(ask(node, 0, "cmd=put kvsname=kvs key=a value=1") == kGood);
  CHECK(ask(node, 1, "cmd=get kvsname=kvs key=a") ==
        "1: cmd=get_result rc=0 msg=success value=1\n");
  CHECK(ask(node, 1, "cmd=get kvsname=kvs key=b") ==
        "1: cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
  CHECK(ask(node, 0, "cmd=barrier_in").empty());
  CHECK(node.take_messages().empty());
  CHECK(ask(node, 1, "cmd=barrier_in").empty());
  CHECK(node.take_messages() == std::vector<Message>{FenceIn{.data = packed({{"a", "1"}})}});
  node.take(FenceOut{.data = packed({{"b", "2"}})});
  CHECK(answers_of(node) == "0: cmd=barrier_out\n1: cmd=barrier_out\n");
  CHECK(ask(node, 1, "cmd=get kvsname=kvs key=b") ==
        "1: cmd=get_result rc=0 msg=success value=2\n");
  // The next fence does not send the pair again.
  ask(node, 0, "cmd=barrier_in");
  ask(node, 1, "cmd=barrier_in");
  CHECK(node.take_messages() == std::vector<Message>{FenceIn{}});
}

TEST_CASE("ranks find the nodes of all ranks") {
  PmiNode node = node_of(1);
  CHECK(ask(node, 0, "cmd=get kvsname=kvs key=PMI_process_mapping") ==
        "0: cmd=get_result rc=0 msg=success value=(vector,(0,2,4))\n");
}

TEST_CASE("thirty thousand pairs go in frames, and each goes once") {
  PmiNode node = node_of(1);
  constexpr int kPairs = 30'000;
  for (int i = 0; i < kPairs; ++i)
    node.take(0, fmt::format("cmd=put kvsname=kvs key=k{} value={:0100}\n", i, i), kStart);
  node.take(0, "cmd=barrier_in\n", kStart);
  std::size_t pairs = 0;
  const std::vector<Message> messages = node.take_messages();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& fence = std::get<FenceIn>(messages[i]);
    CHECK(fence.last == (i + 1 == messages.size()));
    CHECK(fence.data.size() <= kFenceFrameBytes);
    pairs += read_pairs(fence.data).size();
  }
  CHECK(pairs == kPairs);
  CHECK(messages.size() > 3);
}

TEST_CASE("a space that is full refuses more, and the ranks go on") {
  PmiNode node = node_of(1);
  node.take(FenceOut{.data = packed({{"filler", std::string(kMaxSpaceBytes - 3000, 'x')}})});
  const std::string value(1024, 'v');
  CHECK(ask(node, 0, "cmd=put kvsname=kvs key=a value=" + value) == kGood);
  CHECK(ask(node, 0, "cmd=put kvsname=kvs key=b value=" + value) == kGood);
  CHECK(ask(node, 0, "cmd=put kvsname=kvs key=c value=" + value) ==
        "0: cmd=put_result rc=-1 msg=key-value_space_is_full\n");
  CHECK(ask(node, 0, "cmd=get kvsname=kvs key=a").starts_with("0: cmd=get_result rc=0"));
}

TEST_CASE("ranks that are missing are reported after a second, and again when others join") {
  PmiNode node = node_of(3);
  CHECK(node.wake_at() == ds::Clock::time_point::max());
  ask(node, 1, "cmd=barrier_in");
  CHECK(node.wake_at() == kStart + 1s);
  node.tick(kStart + 999ms);
  CHECK(node.take_messages().empty());
  node.tick(kStart + 1s);
  CHECK(node.take_messages() == std::vector<Message>{FenceWaits{{4, 6}}});
  node.tick(kStart + 2s);
  CHECK(node.take_messages().empty());
  ask(node, 2, "cmd=barrier_in");
  node.tick(kStart + 3s);
  CHECK(node.take_messages() == std::vector<Message>{FenceWaits{{4}}});
  ask(node, 0, "cmd=barrier_in");
  CHECK(node.take_messages() == std::vector<Message>{FenceIn{}});
  CHECK(node.wake_at() == ds::Clock::time_point::max());
}

TEST_CASE("a rank that breaks the protocol loses its connection, others do not notice") {
  PmiNode node = node_of(2);
  CHECK(ask(node, 0, "nonsense") == "0 closed: ");
  CHECK(node.take_messages() ==
        std::vector<Message>{MpiFailed{.rank = 4,
                                       .code = 1,
                                       .text = "sent an invalid PMI request: 'nonsense'",
                                       .time = clock_value(kStart)}});
  CHECK(ask(node, 1, "cmd=get_appnum") == "1: cmd=appnum appnum=0\n");
}

TEST_CASE("a rank that calls MPI_Abort keeps its connection until it is stopped") {
  PmiNode node = node_of(1);
  CHECK(ask(node, 0, "cmd=abort exitcode=5").empty());
  CHECK(node.take_messages() ==
        std::vector<Message>{MpiFailed{
            .rank = 4, .code = 5, .text = "called MPI_Abort(5)", .time = clock_value(kStart)}});
}

TEST_CASE("half a request is an error only of a rank that lives on") {
  PmiNode node = node_of(2);
  node.take(0, "cmd=get", kStart);
  node.closed(0, kStart);
  node.take(1, "cmd=get", kStart);
  node.closed(1, kStart);
  node.ended(5);
  CHECK(node.wake_at() == kStart + 1s);
  node.tick(kStart + 1s);
  const std::vector<Message> messages = node.take_messages();
  REQUIRE(messages.size() == 1);
  CHECK(std::get<MpiFailed>(messages[0]).rank == 4);
  CHECK(std::get<MpiFailed>(messages[0]).text == "closed its PMI connection inside a request");
  PmiNode good = node_of(1);
  good.closed(0, kStart);
  CHECK(good.wake_at() == ds::Clock::time_point::max());
}

TEST_CASE("a refused service is named to the user") {
  PmiNode node = node_of(1);
  ask(node, 0, "mcmd=spawn\nendcmd");
  CHECK(node.take_lines() ==
        std::vector<std::string>{"rank 4: MPI_Comm_spawn is not supported by dslaunch"});
}

TEST_CASE("a node that has all ranks sends no pairs") {
  Spec spec;
  spec.mpi = {.wire = MpiWire::pmi1, .size = 1};
  spec.ranks.push_back({.rank = 0, .local_rank = 0, .env = {}});
  PmiNode node(spec, "kvs");
  node.take(0, "cmd=init pmi_version=1 pmi_subversion=1\n", kStart);
  node.take(0, "cmd=put kvsname=kvs key=a value=1\ncmd=barrier_in\n", kStart);
  CHECK(node.take_messages() == std::vector<Message>{FenceIn{}});
}

TEST_CASE("a pair that replaces another one takes no more room") {
  PmiNode node = node_of(1);
  const std::string value(1000, 'v');
  for (int i = 0; i < 300; ++i)
    node.take(FenceOut{.last = false, .data = packed({{"key", std::string(1 << 20, 'x')}})});
  CHECK(ask(node, 0, "cmd=put kvsname=kvs key=a value=" + value) == kGood);
}

TEST_CASE("a FenceOut that nobody waits for releases nobody") {
  PmiNode node = node_of(2);
  ask(node, 0, "cmd=barrier_in");
  node.take(FenceOut{});
  CHECK(node.take_answers().empty());
}
