// A running job's private socket: tells about the job, takes signals, shows its output. It runs on
// the job's own loop and never waits for a client: one that does not read loses output, then its
// connection.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "launcher/control/messages.h"
#include "launcher/control/output_ring.h"

namespace ds::launcher {

/// What the server asks of its job.
struct ControlHooks {
  std::function<JobInfo()> info;
  /// As if the launcher had got the signal; SIGKILL: ends the ranks at once. Returns why not, or
  /// nothing.
  std::function<std::string(int signo, std::optional<std::chrono::milliseconds> grace)> signal;
  /// What stands before lines of a rank; none: the client's own choice.
  std::function<std::string(const OutputPiece& piece)> prefix{};
  /// Whether those who ask for no rank by number see this stream of it; none: they do.
  std::function<bool(int rank, int stream)> shows{};
  /// Somebody asks for this rank by its number, or nobody any more. True: what it wrote last will
  /// come, and then answered() is called.
  std::function<bool(int rank, bool on)> watch{};
  /// Somebody wants a checkpoint: saved() follows. Returns why not, or nothing. None: it trains
  /// nothing.
  std::function<std::string()> checkpoint{};
};

class ControlServer {
 public:
  /// `folders`: as socket_folders() gives them.
  ControlServer(asio::io_context& io, std::string job_id, std::vector<std::string> folders,
                ControlHooks hooks);
  /// Removes the socket.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Makes the socket in the first folder that can be used. Returns why there is none, or nothing.
  [[nodiscard]] std::string open();

  /// Output of a rank as it came from its node, or a line of the launcher itself (rank -1).
  void output(const OutputPiece& piece, std::span<const std::byte> bytes);
  /// What a watched rank wrote last has come.
  void answered(int rank);
  /// For all who want a checkpoint.
  void saved(const CheckpointOutcome& outcome);

  /// The job is over: no new clients; those that follow get the rest and the exit code. Calls
  /// `on_drained` once, from the loop: when all have it, or a second later.
  void finish(int code, std::function<void()> on_drained);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ds::launcher
