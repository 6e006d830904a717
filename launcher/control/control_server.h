// Server of a running job's private socket: describes the job, takes signals, sends output. It runs
// on the job's event loop and never waits for a client: a slow client loses output, then its
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

/// Callbacks into the job.
struct ControlHooks {
  std::function<JobInfo()> info;
  /// Acts as if the launcher had received the signal; SIGKILL ends the ranks at once. Returns the
  /// reason for a refusal, or an empty text.
  std::function<std::string(int signo, std::optional<std::chrono::milliseconds> grace)> signal;
  /// Returns the prefix of a rank's lines. If null, the client chooses it.
  std::function<std::string(const OutputPiece& piece)> prefix{};
  /// Returns whether clients that name no rank see this stream of the rank. If null, they do.
  std::function<bool(int rank, int stream)> shows{};
  /// Called when the first client asks for this rank by number (`on`), and after the last one has
  /// left. Returns true if the rank's last output will come; answered() is then called.
  std::function<bool(int rank, bool on)> watch{};
  /// Requests a checkpoint; saved() follows. Returns the reason for a refusal, or an empty text.
  /// Null for a job that does not train.
  std::function<std::string()> checkpoint{};
};

class ControlServer {
 public:
  /// `folders`: the result of socket_folders().
  ControlServer(asio::io_context& io, std::string job_id, std::vector<std::string> folders,
                ControlHooks hooks);
  /// Removes the socket.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Creates the socket in the first usable folder. Returns the reason for a failure, or an empty
  /// text.
  [[nodiscard]] std::string open();

  /// Adds output of a rank as it came from its node, or a line of the launcher itself (rank -1).
  void output(const OutputPiece& piece, std::span<const std::byte> bytes);
  /// Tells that the last output of a watched rank has arrived.
  void answered(int rank);
  /// Sends the outcome to all clients that asked for a checkpoint.
  void saved(const CheckpointOutcome& outcome);

  /// Ends the server after the job: accepts no new clients, sends the rest and the exit code to
  /// those that follow. Calls `on_drained` once from the loop: when all have it, or after 1 s.
  void finish(int code, std::function<void()> on_drained);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ds::launcher
