// Server of a running job's private socket: describes the job, takes signals, sends output. It runs
// on the job's event loop and never waits for a client: a slow client loses output, then its
// connection.
#pragma once

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/control/job_output.h"
#include "launcher/control/job_socket.h"

namespace ds::launcher {

/// Answer to a ScaleRequest.
struct ScaleAnswer {
  bool refused = false;
  std::string text{};  // what changes, or why nothing does
};

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
  /// Changes the hosts of the job, or their number.
  std::function<ScaleAnswer(const ScaleRequest&)> scale{};
};

struct ControlContext;
class ControlSession;

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
  void listen_in(SocketFolder folder);
  void remove_socket();
  void look();
  void accept();
  void on_client(asio::local::stream_protocol::socket socket);
  void on_closed(const ControlSession* session);
  void drained();
  /// Calls `handler` when the timer fires, unless the server is gone by then.
  void after(asio::steady_timer& timer, std::chrono::milliseconds span,
             void (ControlServer::*handler)());
  void pump();

  asio::io_context& io_;
  std::string id_;
  std::vector<std::string> folders_;
  std::shared_ptr<ControlContext> context_;
  std::shared_ptr<ControlServer*> self_;  // handlers that run after the destruction find it expired
  std::optional<SocketFolder> folder_;
  asio::local::stream_protocol::acceptor acceptor_;
  asio::steady_timer look_timer_, gather_timer_, accept_timer_, drain_timer_;
  std::vector<std::shared_ptr<ControlSession>> sessions_;
  std::function<void()> on_drained_;
  bool gathering_ = false;
};

}  // namespace ds::launcher
