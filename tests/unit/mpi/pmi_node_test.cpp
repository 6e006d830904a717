// Tests one node: its key-value space, fences, and ranks that break the protocol.
#include "launcher/mpi/pmi_node.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "unit/mpi/pmi_frame.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

const ds::Clock::time_point kStart{1h};

/// A node with ranks 4, 5, ... of 8.
PmiNode new_node(int ranks, int size = 8, MpiWire wire = MpiWire::pmi1) {
  Spec spec;
  spec.mpi = {.wire = wire, .size = size, .process_mapping = "(vector,(0,2,4))"};
  for (int i = 0; i < ranks; ++i) spec.ranks.push_back({.rank = 4 + i, .local_rank = i, .env = {}});
  return PmiNode(spec, "kvs");
}

/// The same, all of them after `init`.
PmiNode node_of(int ranks) {
  PmiNode node = new_node(ranks);
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
std::string texts_of(PmiNode& node) {
  std::string text;
  for (const Message& message : node.take_messages())
    text += fmt::format("{}: {}\n", std::get<MpiFailed>(message).rank,
                        std::get<MpiFailed>(message).text);
  return text;
}

constexpr const char* kGood = "0: cmd=put_result rc=0 msg=success\n";

}  // namespace

TEST_CASE("the first request of a rank that may also use PMIx is told to the root, once") {
  PmiNode node = new_node(2, 8, MpiWire::any);
  const std::string init = "cmd=init pmi_version=1 pmi_subversion=1";
  node.take(1, init.substr(0, 8), kStart);
  CHECK(node.take_messages().empty());
  node.take(1, init.substr(8) + "\n", kStart);
  CHECK(node.take_messages() == std::vector<Message>{MpiInit{5, MpiWire::pmi1}});
  ask(node, 1, "cmd=get_maxes");
  CHECK(node.take_messages().empty());
  PmiNode alone = new_node(2);
  ask(alone, 1, init);
  CHECK(alone.take_messages().empty());
}

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
  node.take(FenceOut{.data = packed({{"filler", std::string(kMaxSpaceBytes - 3500, 'x')}})});
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

TEST_CASE("PMI-2: ranks of a node share its attributes, and the fence of others' PMI-1") {
  PmiNode node = new_node(2);
  node.take(0, "cmd=init pmi_version=2 pmi_subversion=0\n", kStart);
  node.take(1, "cmd=init pmi_version=2 pmi_subversion=0\n", kStart);
  node.take_answers();
  const auto ask_2 = [&](std::size_t index, const std::string& body) {
    node.take(index, framed(body), kStart);
    return answers_of(node);
  };
  CHECK(ask_2(0, "cmd=info-getjobattr;key=universeSize;") ==
        "0: " + framed("cmd=info-getjobattr-response;rc=0;found=TRUE;value=8;"));
  CHECK(ask_2(0, "cmd=info-getnodeattr;key=a;wait=FALSE;") ==
        "0: " + framed("cmd=info-getnodeattr-response;rc=0;found=FALSE;"));
  CHECK(ask_2(0, "cmd=info-getnodeattr;key=a;wait=TRUE;").empty());
  CHECK(ask_2(1, "cmd=info-putnodeattr;key=b;value=1;") ==
        "1: " + framed("cmd=info-putnodeattr-response;rc=0;"));
  CHECK(ask_2(1, "cmd=info-putnodeattr;key=a;value=2;") ==
        "1: " + framed("cmd=info-putnodeattr-response;rc=0;") +
            "0: " + framed("cmd=info-getnodeattr-response;rc=0;found=TRUE;value=2;"));
  CHECK(ask_2(0, "cmd=kvs-put;key=c;value=3;") == "0: " + framed("cmd=kvs-put-response;rc=0;"));
  CHECK(ask_2(0, "cmd=kvs-fence;").empty());
  CHECK(ask_2(1, "cmd=kvs-fence;").empty());
  // Attributes stay on the node.
  CHECK(node.take_messages() == std::vector<Message>{FenceIn{.data = packed({{"c", "3"}})}});
  node.take(FenceOut{});
  CHECK(answers_of(node) == "0: " + framed("cmd=kvs-fence-response;rc=0;") +
                                "1: " + framed("cmd=kvs-fence-response;rc=0;"));
}

TEST_CASE("PMI-2: a wait for a node attribute that nobody can put any more") {
  PmiNode node = new_node(2);
  for (const std::size_t index : {0, 1})
    node.take(index, "cmd=init pmi_version=2 pmi_subversion=0\n", kStart);
  node.take(0, framed("cmd=info-getnodeattr;key=a;wait=TRUE;"), kStart);
  CHECK(node.take_messages().empty());
  node.take(1, framed("cmd=kvs-fence;"), kStart);
  CHECK(texts_of(node) ==
        "4: waits for the node attribute 'a', which no rank of its node can put\n");
}

TEST_CASE("a rank that ends with 0 after init and without finalize ends the job") {
  PmiNode node = node_of(3);
  node.closed(0, kStart);
  CHECK(texts_of(node).empty());
  node.ended(0, 0, kStart);
  CHECK(texts_of(node) == "4: exited after MPI_Init without MPI_Finalize\n");
  // A background process held the connection.
  node.ended(1, 0, kStart);
  CHECK(texts_of(node).empty());
  node.closed(1, kStart);
  CHECK(texts_of(node) == "5: exited after MPI_Init without MPI_Finalize\n");
  ask(node, 2, "cmd=finalize");
  node.closed(2, kStart);
  node.ended(2, 0, kStart);
  CHECK(texts_of(node).empty());
  CHECK(node.wake_at() == ds::Clock::time_point::max());
}

TEST_CASE("the exit status of a rank says more than its connection") {
  PmiNode node = node_of(2);
  node.closed(0, kStart);
  node.ended(0, 7 << 8, kStart);
  node.tick(kStart + 2s);
  CHECK(texts_of(node).empty());
  node.closed(1, kStart);
  node.tick(kStart + 1s);
  CHECK(texts_of(node) == "5: closed its PMI connection after MPI_Init without MPI_Finalize\n");
}

TEST_CASE("a rank without init may close and end, and a world of one may end anyhow") {
  PmiNode node = new_node(1);
  node.closed(0, kStart);
  node.ended(0, 0, kStart);
  PmiNode alone = new_node(1, 1);
  alone.take(0, "cmd=init pmi_version=1 pmi_subversion=1\n", kStart);
  alone.closed(0, kStart);
  alone.ended(0, 0, kStart);
  CHECK(texts_of(node).empty());
  CHECK(texts_of(alone).empty());
}

TEST_CASE("SIGPIPE after finalize is explained") {
  PmiNode node = node_of(1);
  ask(node, 0, "cmd=finalize");
  node.closed(0, kStart);
  node.ended(0, 141 << 8, kStart);
  CHECK(
      node.take_lines() ==
      std::vector<std::string>{"rank 4: ended by SIGPIPE after MPI_Finalize; a second MPI program "
                               "of one rank has no connection, so start it with a dslaunch of its "
                               "own"});
}

TEST_CASE("half a request is an error only of a rank that lives on") {
  PmiNode node = node_of(2);
  node.take(0, "cmd=get", kStart);
  node.closed(0, kStart);
  node.take(1, "cmd=get", kStart);
  node.closed(1, kStart);
  node.ended(1, 9, kStart);
  CHECK(node.wake_at() == kStart + 1s);
  node.tick(kStart + 1s);
  const std::vector<Message> messages = node.take_messages();
  REQUIRE(messages.size() == 1);
  CHECK(std::get<MpiFailed>(messages[0]).rank == 4);
  CHECK(std::get<MpiFailed>(messages[0]).text == "closed its PMI connection inside a request");
  PmiNode good = new_node(1);
  good.closed(0, kStart);
  CHECK(good.wake_at() == ds::Clock::time_point::max());
}

TEST_CASE("a refused service is named to the user") {
  PmiNode node = node_of(1);
  ask(node, 0, "mcmd=spawn\nendcmd");
  CHECK(node.take_lines() ==
        std::vector<std::string>{"rank 4: MPI_Comm_spawn is not supported by dslaunch"});
}

TEST_CASE("names go to the root, and its answer to the rank that waits for one") {
  PmiNode node = node_of(2);
  CHECK(ask(node, 1, "cmd=publish_name service=s port=p").empty());
  CHECK(node.take_messages() ==
        std::vector<Message>{
            NameAsk{.rank = 5, .kind = NameAsk::Kind::publish, .names = {{"pmi s", "p"}}}});
  node.take(NameAnswer{.rank = 4});  // which has not asked
  node.take(NameAnswer{.rank = 9});  // which is not here
  CHECK(answers_of(node).empty());
  node.take(NameAnswer{.rank = 5});
  CHECK(answers_of(node) == "1: cmd=publish_result rc=0 msg=success\n");
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

TEST_CASE("a key that is put again before a fence is sent once") {
  PmiNode node = node_of(1);
  for (int i = 0; i < 1000; ++i)
    CHECK(ask(node, 0, fmt::format("cmd=put kvsname=kvs key=a value={}", i)) == kGood);
  ask(node, 0, "cmd=barrier_in");
  CHECK(node.take_messages() == std::vector<Message>{FenceIn{.data = packed({{"a", "999"}})}});
}

TEST_CASE("a FenceOut that nobody waits for releases nobody") {
  PmiNode node = node_of(2);
  ask(node, 0, "cmd=barrier_in");
  node.take(FenceOut{});
  CHECK(node.take_answers().empty());
}
