// Tests of a job's private socket with clients in the same process and event loop.
#include "launcher/control/control_server.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/local/stream_protocol.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "launcher/control/job_client.h"

using namespace ds::launcher;
using namespace std::chrono_literals;
using ds::Deadline;
namespace fs = std::filesystem;

namespace {

const std::string kId = "00112233aabbccdd";

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

/// Job that consists of its socket only.
class Fixture {
 public:
  Fixture() {
    std::string form = fs::temp_directory_path() / "unit_control_XXXXXX";
    REQUIRE(::mkdtemp(form.data()) != nullptr);
    folder = form;
    server = std::make_unique<ControlServer>(
        io, kId, std::vector<std::string>{folder},
        ControlHooks{.info = [] { return JobInfo{.id = kId, .state = "running"}; },
                     .signal =
                         [this](int signo, std::optional<std::chrono::milliseconds> grace) {
                           signals.emplace_back(signo, grace);
                           return signo == SIGWINCH ? "not that one" : "";
                         },
                     .checkpoint = [this] { return refusal; }});
    REQUIRE(server->open().empty());
  }
  ~Fixture() { fs::remove_all(folder); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  JobClient connect() {
    auto jobs = live_jobs({folder}, [](const std::string&) {});
    REQUIRE(jobs.size() == 1);
    CHECK(jobs[0].id == kId);
    return std::move(jobs[0].client);
  }
  /// Returns the next message to a client; empty when its connection is closed.
  std::optional<ControlMessage> next(JobClient& client) {
    const Deadline deadline = Deadline::after(20s);
    while (!deadline.passed()) {
      io.restart();
      io.poll();
      if (auto message = client.next(Deadline::after(1ms))) return message;
      if (client.over()) return std::nullopt;
    }
    FAIL("nothing came");
    return std::nullopt;
  }
  template <class T>
  T expect(JobClient& client) {
    auto message = next(client);
    REQUIRE(message);
    REQUIRE(std::holds_alternative<T>(*message));
    return std::get<T>(*message);
  }
  std::string output_text(JobClient& client) {
    const auto output = expect<RankOutput>(client);
    return {reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size()};
  }
  void run_until(const bool& done) {
    const Deadline deadline = Deadline::after(20s);
    while (!done && !deadline.passed()) {
      io.restart();
      io.run_one_for(10ms);
    }
    CHECK(done);
  }

  std::string folder;
  asio::io_context io{1};
  std::vector<std::pair<int, std::optional<std::chrono::milliseconds>>> signals;
  std::string refusal;  // of checkpoints
  std::unique_ptr<ControlServer> server;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "it tells about its job, more than once") {
  JobClient client = connect();
  for (int i = 0; i < 2; ++i) {
    client.send(InfoRequest{});
    CHECK(expect<JobInfo>(client).state == "running");
  }
  CHECK(client.pid() == ::getpid());
}

TEST_CASE_FIXTURE(Fixture, "signals reach the job, with a grace or without; a refusal says why") {
  JobClient client = connect();
  client.send(SignalRequest{.signo = SIGTERM});
  expect<Accepted>(client);
  client.send(SignalRequest{.signo = SIGUSR1, .grace_ms = 0});
  expect<Accepted>(client);
  client.send(SignalRequest{.signo = SIGWINCH});
  CHECK(expect<Refused>(client).reason == "not that one");
  CHECK(!next(client));
  REQUIRE(signals.size() == 3);
  CHECK(signals[0].second == std::nullopt);
  CHECK(signals[1].first == SIGUSR1);
  CHECK(signals[1].second == 0ms);
}

TEST_CASE_FIXTURE(Fixture,
                  "all who want a checkpoint hear of it once; else of the end, or why not") {
  JobClient one = connect(), other = connect();
  for (JobClient* client : {&one, &other}) {
    client->send(CheckpointRequest{});
    expect<Accepted>(*client);
  }
  CheckpointOutcome outcome{.saved = true, .step = 4, .folder = "/ck", .details = "1 B"};
  server->saved(outcome);
  server->saved({.step = 5});
  CHECK(expect<CheckpointOutcome>(one).fields() == outcome.fields());
  CHECK(expect<CheckpointOutcome>(other).fields() == outcome.fields());
  one.send(CheckpointRequest{});
  expect<Accepted>(one);
  refusal = "it is stopping";
  other.send(CheckpointRequest{});
  CHECK(expect<Refused>(other).reason == refusal);
  server->finish(143, [] {});
  CHECK(expect<JobDone>(one).code == 143);
}

TEST_CASE_FIXTURE(Fixture, "what was kept, then what comes, then the exit code") {
  server->output({0, 1}, bytes("first\n"));
  JobClient client = connect();
  client.send(OutputRequest{.follow = true});
  CHECK(output_text(client) == "first\n");
  expect<Caught>(client);
  server->output({1, 2}, bytes("second\n"));
  CHECK(output_text(client) == "second\n");
  server->output({1, 2}, bytes("third\n"));
  bool drained = false;
  server->finish(7, [&] { drained = true; });
  CHECK(output_text(client) == "third\n");
  CHECK(expect<JobDone>(client).code == 7);
  CHECK(!next(client));
  run_until(drained);
}

TEST_CASE_FIXTURE(Fixture, "without follow it is only what was kept; one rank alone if asked") {
  server->output({0, 1}, bytes("of rank 0\n"));
  server->output({1, 1}, bytes("of rank 1\n"));
  server->output({-1, 2}, bytes("of the launcher"));
  JobClient client = connect();
  client.send(OutputRequest{.rank = 1});
  CHECK(output_text(client) == "of rank 1\n");
  expect<Caught>(client);
  client.send(OutputRequest{});
  CHECK(output_text(client) == "of rank 0\n");
}

TEST_CASE_FIXTURE(Fixture, "a client that follows one rank also gets the lines of the launcher") {
  server->output({1, 1}, bytes("of rank 1\n"));
  JobClient client = connect();
  client.send(OutputRequest{.rank = 1, .follow = true});
  CHECK(output_text(client) == "of rank 1\n");
  expect<Caught>(client);
  server->output({0, 1}, bytes("of rank 0\n"));
  server->output({-1, 2}, bytes("verdict"));
  CHECK(output_text(client) == "verdict");
}

TEST_CASE_FIXTURE(Fixture, "who only waits gets the exit code alone; the others are let go") {
  JobClient waiting = connect();
  waiting.send(WaitRequest{});
  JobClient asking = connect();
  asking.send(InfoRequest{});
  expect<JobInfo>(asking);
  server->output({0, 1}, bytes("text\n"));
  bool drained = false;
  server->finish(0, [&] { drained = true; });
  CHECK(expect<JobDone>(waiting).code == 0);
  CHECK(!next(asking));
  run_until(drained);
  CHECK(live_jobs({folder}, [](const std::string&) {}).empty());
}

TEST_CASE_FIXTURE(Fixture, "a client that does not read holds nobody: it is told what it missed") {
  JobClient lazy = connect();
  lazy.send(OutputRequest{.follow = true});
  expect<Caught>(lazy);
  const std::string text(100'000, 'x');
  for (int i = 0; i < 100; ++i) {
    server->output({0, 1}, bytes(text));
    io.restart();
    io.run_for(1ms);
  }
  // The socket's buffer comes first, then Skipped for the gap, then the rest of the ring.
  std::size_t came = 0;
  std::uint64_t missed = 0;
  while (missed == 0) {
    auto message = next(lazy);
    REQUIRE(message);
    if (const auto* gap = std::get_if<Skipped>(&*message)) missed = gap->bytes;
    if (const auto* output = std::get_if<RankOutput>(&*message)) came += output->bytes.size();
  }
  CHECK(came < 2'000'000);
  CHECK(missed > 7'000'000);
  CHECK(output_text(lazy).front() == 'x');
}

TEST_CASE_FIXTURE(Fixture, "after the end of the job nobody waits long for such a client") {
  JobClient lazy = connect();
  lazy.send(OutputRequest{.follow = true});
  expect<Caught>(lazy);
  for (int i = 0; i < 20; ++i) server->output({0, 1}, bytes(std::string(50'000, 'x')));
  bool drained = false;
  server->finish(0, [&] { drained = true; });
  run_until(drained);
}

TEST_CASE_FIXTURE(Fixture, "nonsense and other versions are refused") {
  JobClient other = connect();
  other.send(InfoRequest{.version = 99});
  CHECK(expect<Refused>(other).reason.find(fmt::format("speaks version {}", kControlVersion)) != std::string::npos);
  CHECK(!next(other));
  JobClient wrong = connect();
  wrong.send(Caught{});
  CHECK(expect<Refused>(wrong).reason == "unexpected message: not a request");
  JobClient noise = connect();
  REQUIRE(::send(noise.fd(), "GET / HTTP/1.1\r\n", 16, 0) == 16);
  expect<Refused>(noise);
  JobClient good = connect();
  good.send(InfoRequest{});
  expect<JobInfo>(good);
}

TEST_CASE_FIXTURE(Fixture, "what was said before the end is heard, even by who speaks after it") {
  JobClient client = connect();
  client.send(WaitRequest{});
  client.send(Caught{});  // refused, and the connection closed
  while (::send(client.fd(), "", 0, MSG_NOSIGNAL) == 0 && client.send(InfoRequest{})) {
    io.restart();
    io.poll();
  }
  CHECK(expect<Refused>(client).reason == "unexpected message: not a request");
  CHECK(!next(client));
}

TEST_CASE_FIXTURE(Fixture, "clients beyond the limit are turned away, and the others served") {
  std::vector<JobClient> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(connect());
    io.poll();
    io.restart();
  }
  JobClient late = connect();
  CHECK(!next(late));
  clients[5].send(InfoRequest{});
  expect<JobInfo>(clients[5]);
  clients.pop_back();
  io.run_for(20ms);
  io.restart();
  JobClient again = connect();
  again.send(InfoRequest{});
  expect<JobInfo>(again);
}

TEST_CASE(
    "sockets that dead jobs left are removed; the second folder serves when the first cannot") {
  std::string form = fs::temp_directory_path() / "unit_control_XXXXXX";
  REQUIRE(::mkdtemp(form.data()) != nullptr);
  const std::string folder = form;
  {
    // A bound and closed socket, as after kill -9.
    const SocketFolder private_folder = *SocketFolder::open(folder);
    asio::io_context io;
    asio::local::stream_protocol::acceptor dead(
        io, asio::local::stream_protocol::endpoint(private_folder.address_of(socket_name(kId))));
  }
  CHECK(fs::exists(fs::path(folder) / socket_name(kId)));
  std::vector<std::string> warnings;
  CHECK(live_jobs({folder, "/proc"}, [&](const std::string& text) {
          warnings.push_back(text);
        }).empty());
  CHECK_FALSE(fs::exists(fs::path(folder) / socket_name(kId)));
  CHECK(warnings.size() == 1);

  asio::io_context io;
  ControlServer server(io, kId, {"/proc/none", folder}, {});
  CHECK(server.open().empty());
  CHECK(fs::exists(fs::path(folder) / socket_name(kId)));
  ControlServer nowhere(io, kId, {"/proc/none"}, {});
  CHECK(nowhere.open().find("/proc/none") != std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE_FIXTURE(Fixture,
                  "prefixes are the job's; hidden streams are for those who ask by number") {
  server.reset();
  server = std::make_unique<ControlServer>(
      io, kId, std::vector<std::string>{folder},
      ControlHooks{
          .info = [] { return JobInfo{.id = kId}; },
          .signal = [](int, auto) { return std::string(); },
          .prefix =
              [](const OutputPiece& piece) { return "<" + std::to_string(piece.rank) + "> "; },
          .shows = [](int rank, int) { return rank != 1; }});
  REQUIRE(server->open().empty());
  server->output({1, 1}, bytes("hidden\n"));
  server->output({0, 1}, bytes("shown\n"));
  JobClient all = connect(), one = connect();
  all.send(OutputRequest{});
  CHECK(expect<RankOutput>(all).prefix == "<0> ");
  expect<Caught>(all);
  one.send(OutputRequest{.rank = 1});
  CHECK(output_text(one) == "hidden\n");
  expect<Caught>(one);
}

TEST_CASE_FIXTURE(Fixture, "a rank that is asked for is watched until nobody asks any more") {
  std::vector<std::string> watched;
  server.reset();
  server = std::make_unique<ControlServer>(
      io, kId, std::vector<std::string>{folder},
      ControlHooks{.info = [] { return JobInfo{.id = kId}; },
                   .signal = [](int, auto) { return std::string(); },
                   .watch =
                       [&](int rank, bool on) {
                         watched.push_back(std::to_string(rank) + (on ? " on" : " off"));
                         return true;
                       }});
  REQUIRE(server->open().empty());
  {
    JobClient first = connect(), second = connect();
    first.send(OutputRequest{.rank = 3});
    second.send(OutputRequest{.rank = 3, .follow = true});
    const Deadline deadline = Deadline::after(20s);
    while (watched.empty() && !deadline.passed()) io.restart(), io.run_one_for(10ms);
    server->output({3, 1}, bytes("last words\n"));
    server->answered(3);
    CHECK(output_text(first) == "last words\n");
    expect<Caught>(first);
    CHECK(output_text(second) == "last words\n");
    expect<Caught>(second);
    CHECK(watched == std::vector<std::string>{"3 on"});
  }
  const Deadline deadline = Deadline::after(20s);
  while (watched.size() < 2 && !deadline.passed()) io.restart(), io.run_one_for(10ms);
  CHECK(watched == std::vector<std::string>{"3 on", "3 off"});
}

TEST_CASE_FIXTURE(Fixture, "the end of the job is an answer too") {
  server.reset();
  server = std::make_unique<ControlServer>(
      io, kId, std::vector<std::string>{folder},
      ControlHooks{.info = [] { return JobInfo{.id = kId}; },
                   .signal = [](int, auto) { return std::string(); },
                   .watch = [](int, bool) { return true; }});
  REQUIRE(server->open().empty());
  server->output({0, 1}, bytes("kept\n"));
  JobClient client = connect();
  client.send(OutputRequest{.rank = 0, .follow = true});
  CHECK(output_text(client) == "kept\n");
  bool drained = false;
  server->finish(4, [&] { drained = true; });
  expect<Caught>(client);
  CHECK(expect<JobDone>(client).code == 4);
  run_until(drained);
}
