// Server of a running job's private socket: describes the job, takes signals, sends output. It runs
// on the job's event loop and never waits for a client: a slow client loses output, then its
// connection.
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/control/messages.h"
#include "launcher/control/output_ring.h"
#include "launcher/control/socket_folder.h"

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

/// State shared by all sessions of a job.
struct ControlContext {
  ControlHooks hooks;
  OutputRing ring{};
  struct Watched {  // a rank that clients requested by number
    int clients = 0;
    bool answered = true;
  };
  std::map<int, Watched> watched{};
  std::optional<int> code{};  // set when the job is over
};

/// Session of one client.
class ControlSession : public std::enable_shared_from_this<ControlSession> {
 public:
  using Socket = asio::local::stream_protocol::socket;

  /// The session shares ownership of the context. `on_closed` is called once.
  ControlSession(Socket socket, std::shared_ptr<ControlContext> context,
                 std::function<void(const ControlSession*)> on_closed);

  /// Starts reading if the client belongs to the same user; refuses it otherwise.
  void start();
  /// Tells that the last output of the rank is in the ring.
  void answered(int rank);
  /// Sends the outcome if the client asked for a checkpoint.
  void saved(const CheckpointOutcome& outcome);
  /// Sends what is new in the context.
  void pump();
  void close();

 private:
  struct Reader {  // position of the client in the ring
    std::uint64_t at = 0;
    std::optional<std::uint64_t> caught_at;  // position at which Caught is sent
    int rank = -1;
    bool follow = false;
    bool awaits = false;  // waits for the rank's last output
  };
  void read();
  void on_message(const ControlMessage& message);
  void on_request(const InfoRequest& request);
  void on_request(const SignalRequest& request);
  void on_request(const OutputRequest& request);
  void on_request(const WaitRequest& request);
  void on_request(const CheckpointRequest& request);
  template <class T>
  void on_request(const T&) {
    refuse("unexpected message: not a request");
  }
  void refuse(const std::string& reason);
  void answer(const ControlMessage& message);
  void watch(int rank);
  void stop_waiting();
  [[nodiscard]] bool wants(const OutputPiece& piece) const;
  void take_output();
  void finish_if_done();
  void write();
  void drop_after(std::chrono::seconds span);

  Socket socket_;
  std::shared_ptr<ControlContext> context_;
  std::function<void(const ControlSession*)> on_closed_;
  asio::steady_timer patience_, answer_timer_;
  ControlDecoder decoder_;
  std::array<std::byte, 4096> input_;
  Bytes pending_;  // to be written after out_
  Bytes out_;      // being written
  std::size_t sent_ = 0;
  std::optional<Reader> reader_;
  std::optional<int> watches_;
  bool waits_ = false;
  bool wants_checkpoint_ = false;
  bool writing_ = false;
  bool last_ = false;  // close the connection when all is written
  bool closed_ = false;
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
  void listen_in(SocketFolder folder);
  void remove_socket();
  void look();
  void accept();
  void on_client(ControlSession::Socket socket);
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
