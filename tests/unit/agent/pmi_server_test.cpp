// Tests the descriptors of PMI-1 connections: replies, closed ends, and a rank that does not read.
#include "launcher/agent/pmi_server.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

const ds::Clock::time_point kNow{1h};

/// A server with one rank, and the rank's end, which does not block.
struct OneRank {
  OneRank() {
    PmiPair pair = make_pmi_pair();
    theirs = std::move(pair.theirs);
    ::fcntl(theirs.get(), F_SETFL, O_NONBLOCK);
    Spec spec;
    spec.mpi = {.wire = MpiWire::pmi1, .size = 1, .process_mapping = {}};
    spec.ranks = {{.rank = 0, .local_rank = 0, .env = {}}};
    std::vector<ds::UniqueFd> ends;
    ends.push_back(std::move(pair.ours));
    server = PmiServer(spec, "kvs", std::move(ends));
  }
  void turn() {
    std::vector<pollfd> polled;
    server.add_polls(polled);
    ::poll(polled.data(), polled.size(), 0);
    server.turn(polled, kNow);
  }
  ssize_t send(const std::string& text) const {
    return ::send(theirs.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// What came; "end" after the end of the connection.
  std::string received() const {
    char bytes[1000];
    const ssize_t got = ::read(theirs.get(), bytes, sizeof bytes);
    if (got == 0) return "end";
    return got < 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(got));
  }

  ds::UniqueFd theirs;
  PmiServer server;
};

constexpr const char* kHello = "cmd=init pmi_version=1 pmi_subversion=1\n";

}  // namespace

TEST_CASE("a rank of one node alone: init, a fence, the end") {
  OneRank one;
  one.send(kHello);
  one.turn();
  CHECK(one.received() == "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  one.send("cmd=barrier_in\n");
  one.turn();
  CHECK(one.received().empty());
  CHECK(one.server.take_messages() == std::vector<Message>{FenceIn{}});
  one.server.take(FenceOut{});
  CHECK(one.received() == "cmd=barrier_out\n");
  one.theirs.reset();
  one.turn();
  one.turn();
  CHECK(one.server.take_messages().empty());
}

TEST_CASE("a connection that breaks the protocol is closed") {
  OneRank one;
  one.send("nonsense\n");
  one.turn();
  CHECK(one.received() == "end");
  CHECK(one.server.take_messages().size() == 1);
  one.turn();
  CHECK(one.server.take_messages().empty());
}

TEST_CASE("a rank that reads no replies is not read from, until it does") {
  OneRank one;
  one.send(kHello);
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += "cmd=get_maxes\n";
  std::size_t sent = 0, idle = 0;
  while (idle < 3 && sent < (std::size_t{64} << 20)) {
    const ssize_t more = one.send(requests);
    idle = more <= 0 ? idle + 1 : 0;
    if (more > 0) sent += static_cast<std::size_t>(more);
    one.turn();
  }
  CHECK(idle == 3);
  CHECK(sent < (std::size_t{4} << 20));
  // It reads again. A cut request at the end of what was sent is completed by the next bytes.
  for (int i = 0; i < 100'000 && one.send("cmd=get_maxes\n") <= 0; ++i) {
    one.received();
    one.turn();
  }
  CHECK(one.send("cmd=get_maxes\n") > 0);
}

TEST_CASE("without PMI-1 nothing is polled") {
  PmiServer none;
  std::vector<pollfd> polled;
  none.add_polls(polled);
  CHECK(polled.empty());
  none.turn(polled, kNow);
  none.take(FenceOut{});
  none.ended(0, 0, ds::Clock::now());
  CHECK(none.take_messages().empty());
  CHECK(none.wake_at() == ds::Clock::time_point::max());
}
