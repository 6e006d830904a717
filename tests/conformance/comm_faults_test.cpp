// Tests of failures: deadlines, peers that leave, aborts, unrelated clients, wrong keys. Every
// error names the rank at fault.
#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <latch>
#include <string>
#include <vector>

#include "conformance/comm_worlds.h"
#include "engine/base/error.h"
#include "engine/comm/notes.h"
#include "engine/comm/pieces.h"

using namespace ds;
using namespace ds::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Returns the message, or "" if nothing was thrown; an unexpected kind is shown before it.
std::string error_of(ErrorKind kind, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return (error.kind() == kind ? "" : "another kind of error: ") + std::string(error.what());
  }
  return "";
}

Rendezvous rendezvous_of(const HeldPort& port, int rank, int size) {
  return {.rank = rank,
          .world_size = size,
          .master_addr = "127.0.0.1",
          .master_port = port.port,
          .job_id = "job",
          .job_key = "0123",
          .timeout = 60s};
}

void gather_bytes(Group& group, Deadline deadline) {
  const auto size = static_cast<std::size_t>(group.size());
  std::vector<std::byte> all(size * 1000);
  group.all_gather(cut_pieces(std::span(all), size), deadline);
}

// Sends bytes from one rank to another, among ranks that may be fewer than the group's.
void send(Group& group, std::size_t from, std::size_t to, Deadline deadline) {
  std::vector<std::byte> data(100'000);
  const auto me = static_cast<std::size_t>(group.rank()),
             size = static_cast<std::size_t>(group.size());
  std::vector<std::span<const std::byte>> out(size);
  std::vector<std::span<std::byte>> in(size);
  if (me == from) out[to] = data;
  if (me == to) in[from] = data;
  group.all_to_all(out, in, deadline);
}

}  // namespace

TEST_CASE("a deadline that passes names the silent rank, and the group stays unusable") {
  for (const Backend& backend : backends()) {
    CAPTURE(std::string(backend.name));
    std::latch over(3);
    std::vector<std::string> messages(2), later(2);
    const auto errors = run_world(backend, 3, [&](Collectives&, Group& group) {
      if (group.rank() < 2) {
        const auto rank = static_cast<std::size_t>(group.rank());
        messages[rank] =
            error_of(ErrorKind::comm, [&] { gather_bytes(group, Deadline::after(200ms)); });
        later[rank] = error_of(ErrorKind::comm, [&] { group.barrier(soon()); });
      }
      over.arrive_and_wait();  // rank 2 is present but silent
    });
    CHECK(errors == std::vector<std::string>(3));
    // One of the two gives up first; the other may learn of the failure from it.
    const std::string both = messages[0] + "\n" + messages[1];
    CHECK_MESSAGE(contains(both, "(of group world): all_gather: no answer from rank 2 after "),
                  both);
    for (const std::string& message : messages) {
      CHECK_MESSAGE(
          (contains(message, "rank 2") || contains(message, "the group had already failed")),
          message);
    }
    for (const std::string& message : later) CHECK_MESSAGE(contains(message, "barrier: "), message);
  }
}

TEST_CASE("bytes that are not sent are missed") {
  for (const Backend& backend : backends()) {
    CAPTURE(std::string(backend.name));
    std::latch over(2);
    std::string message;
    const auto errors = run_world(backend, 2, [&](Collectives&, Group& group) {
      if (group.rank() == 1)
        message = error_of(ErrorKind::comm, [&] { send(group, 0, 1, Deadline::after(100ms)); });
      over.arrive_and_wait();
    });
    CHECK(errors == std::vector<std::string>(2));
    CHECK_MESSAGE(
        contains(message, "rank 1 (of group world): all_to_all: no answer from rank 0 after "),
        message);
  }
}

TEST_CASE("a peer that leaves is named long before the deadline") {
  for (const Backend& backend : backends()) {
    CAPTURE(std::string(backend.name));
    std::vector<std::string> messages(2);
    const auto errors = run_world(backend, 3, [&](Collectives&, Group& group) {
      group.barrier(soon());
      if (group.rank() == 2) return;  // destroys its group
      messages[static_cast<std::size_t>(group.rank())] =
          error_of(ErrorKind::comm, [&] { gather_bytes(group, Deadline::after(3600s)); });
    });
    CHECK(errors == std::vector<std::string>(3));
    // The other may hear of it from the one that noticed first.
    const std::string both = messages[0] + "\n" + messages[1];
    CHECK_MESSAGE(contains(both, "(of group world): all_gather: rank 2 closed the connection"),
                  both);
    for (const std::string& message : messages) {
      CHECK_MESSAGE((contains(message, "closed the connection") ||
                     contains(message, "the group had already failed")),
                    message);
    }
  }
}

TEST_CASE("a peer may leave after its part: the others finish") {
  for (const Backend& backend : {backends()[1], backends()[2]}) {
    CAPTURE(std::string(backend.name));
    std::promise<void> left;
    std::shared_future<void> is_left(left.get_future());
    const auto errors = run_world(backend, 3, [&](Collectives&, Group& group) {
      if (group.rank() == 2) return left.set_value();
      if (group.rank() == 1) is_left.wait();
      send(group, 1, 0, soon());
    });
    CHECK(errors == std::vector<std::string>(3));
  }
}

TEST_CASE("abort from another thread ends the wait locally, and soon at the peers") {
  for (const Backend& backend : backends()) {
    CAPTURE(std::string(backend.name));
    std::vector<std::string> messages(2);
    std::latch over(3);
    const auto errors = run_world(backend, 3, [&](Collectives&, Group& group) {
      if (group.rank() == 2) return over.arrive_and_wait();  // takes no part
      std::thread aborter;
      if (group.rank() == 0) aborter = std::thread([&group] { group.abort(); });
      const auto wait_for_ever = [&] { gather_bytes(group, Deadline::after(3600s)); };
      messages[static_cast<std::size_t>(group.rank())] = error_of(ErrorKind::comm, wait_for_ever);
      if (aborter.joinable()) aborter.join();
      over.arrive_and_wait();
    });
    CHECK(errors == std::vector<std::string>(3));
    CHECK_MESSAGE(
        contains(messages[0], "rank 0 (of group world): all_gather: the group was aborted"),
        messages[0]);
    for (const std::string& message : messages)
      CHECK_MESSAGE(contains(message, "all_gather: "), message);
  }
}

TEST_CASE("ranks that disagree are named on every rank") {
  for (const Backend& backend : backends()) {
    CAPTURE(std::string(backend.name));
    const auto errors = run_world(backend, 4, [&](Collectives&, Group& group) {
      require_agreement(group, "build", "v1", soon());
      const std::string message = error_of(ErrorKind::config, [&] {
        require_agreement(group, "training plan", group.rank() == 2 ? "bbbb" : "aaaa", soon());
      });
      if (message != "the training plan differs between ranks: rank 2 has bbbb, the others aaaa") {
        throw std::runtime_error(message);
      }
      group.barrier(soon());
    });
    CHECK(errors == std::vector<std::string>(4));
  }
}

TEST_CASE("a rank that never arrives is named by the ranks that wait for it") {
  const HeldPort port;
  const auto errors = run_ranks(2, [&](int rank) {
    const auto collectives = make_collectives(rendezvous_of(port, rank, 3));
    const auto first_try = Deadline::after(300ms);
    static_cast<void>(collectives->make_group(world_of(3), first_try));
  });
  CHECK_MESSAGE(
      contains(errors[0], "rank 0 (of group world): rendezvous: no answer from rank 2 after "),
      errors[0]);
  // Rank 0 may end before rank 1 gives up.
  CHECK_MESSAGE(
      (contains(errors[1], "no answer from rank 2") || contains(errors[1], "rank 0 at 127.0.0.1:")),
      errors[1]);
}

TEST_CASE("without rank 0, the error says so at the deadline") {
  const HeldPort port;
  Rendezvous rendezvous = rendezvous_of(port, 1, 2);
  rendezvous.timeout = 100ms;
  const std::string message = error_of(ErrorKind::comm, [&] { make_collectives(rendezvous); });
  CHECK_MESSAGE(contains(message, "rank 1: rank 0 did not answer within 0.1 s"), message);
}

TEST_CASE("a port that another program uses is an immediate error") {
  const UniqueFd other = comm::listen_on({"127.0.0.1", 0});
  Rendezvous rendezvous{.rank = 0, .world_size = 2, .master_addr = "127.0.0.1"};
  rendezvous.master_port = comm::local_endpoint(other.get()).port;
  const std::string message = error_of(ErrorKind::comm, [&] { make_collectives(rendezvous); });
  CHECK_MESSAGE(contains(message, "cannot listen on 127.0.0.1:"), message);
}

TEST_CASE("another key, or another job, is refused at once") {
  const HeldPort port;
  std::latch tried(2);
  std::vector<std::string> messages(2);
  const auto errors = run_ranks(2, [&](int rank) {
    if (rank == 0) {
      const auto collectives = make_collectives(rendezvous_of(port, 0, 2));
      tried.arrive_and_wait();
      return;
    }
    Rendezvous other_key = rendezvous_of(port, 1, 2), other_epoch = other_key, no_key = other_key;
    other_key.job_key = "4567";
    other_epoch.epoch = 1;
    no_key.job_key = "";
    messages = {error_of(ErrorKind::comm, [&] { make_collectives(other_key); }),
                error_of(ErrorKind::comm, [&] { make_collectives(other_epoch); }),
                error_of(ErrorKind::comm, [&] { make_collectives(no_key); })};
    tried.arrive_and_wait();
  });
  CHECK(errors == std::vector<std::string>(2));
  CHECK_MESSAGE(contains(messages[0], "refused the job key"), messages[0]);
  CHECK_MESSAGE(contains(messages[1], "refused this rank: this is job job/0, not job/1"),
                messages[1]);
  CHECK_MESSAGE(contains(messages[2], "refused the job key"), messages[2]);
}
