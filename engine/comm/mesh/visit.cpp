// Dials a rank's listening socket, with retries.
#include "engine/comm/mesh/visit.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/mesh/proof.h"
#include "engine/comm/mesh/socket.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void refused_key(const Invitation& door) {
  throw Error(ErrorKind::config, fmt::format("{}:{} refused the job key", door.name, door.port),
              "give every rank of the job the same DSLAUNCH_JOB_KEY (or none), and check that no "
              "other job uses MASTER_PORT");
}

// Returns an invalid descriptor and sets `why` when a retry may help.
UniqueFd try_visit(const Invitation& door, const std::string& purpose, Deadline deadline,
                   std::string& why) {
  UniqueFd fd = dial(door.name, door.port, deadline);
  // One attempt takes 10 s at most: a program that accepts and sends nothing must not use up the
  // deadline.
  const Deadline patience(std::min(deadline.at(), Clock::now() + 10s));
  switch (prove_as_dialer(fd.get(), door.key, patience)) {
    case ProofResult::proven:
      break;
    case ProofResult::refused:
      refused_key(door);
    case ProofResult::impostor:
      why = "the program that answers there is not a rank of this job";
      return {};
    case ProofResult::broken:
      why = "the connection was closed or timed out before the job key was proven";
      return {};
  }
  Frame answer;
  if (!send_frame(fd.get(), {FrameKind::introduce, 0, purpose, door.job}, patience) ||
      !read_frame(fd.get(), answer, patience)) {
    why = "the connection was closed or timed out";
    return {};
  }
  if (answer.kind == FrameKind::refused) {
    throw Error(ErrorKind::config,
                fmt::format("{}:{} refused this rank: {}", door.name, door.port, answer.value));
  }
  return fd;
}

}  // namespace

UniqueFd visit(const Invitation& invitation, const std::string& purpose, Deadline deadline) {
  while (true) {
    std::string why;
    UniqueFd fd = try_visit(invitation, purpose, deadline, why);
    if (fd) return fd;
    if (deadline.passed()) {
      throw Error(ErrorKind::comm, fmt::format("{}:{}: {}", invitation.name, invitation.port, why));
    }
    ::poll(
        nullptr, 0,
        static_cast<int>(std::min<std::chrono::milliseconds>(100ms, deadline.remaining()).count()));
  }
}

bool send_frame(int fd, const Frame& frame, Deadline deadline) {
  return write_all(fd, encode(frame), deadline) == IoResult::done;
}

bool read_frame(int fd, Frame& frame, Deadline deadline) {
  std::array<std::byte, kFrameHead> head{};
  if (read_exactly(fd, head, deadline) != IoResult::done) return false;
  const std::optional<std::size_t> length = body_bytes(head);
  if (!length) return false;
  std::vector<std::byte> body(*length);
  if (read_exactly(fd, body, deadline) != IoResult::done) return false;
  std::optional<Frame> decoded = decode_body(body);
  if (!decoded) return false;
  frame = *std::move(decoded);
  return true;
}

}  // namespace ds::comm
