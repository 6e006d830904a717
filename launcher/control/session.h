// Session of one client on a job's private socket.
#pragma once

#include <array>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>

#include "launcher/control/control_server.h"
#include "launcher/control/output_ring.h"

namespace ds::launcher {

/// State shared by all sessions of a job.
struct ControlContext {
  explicit ControlContext(ControlHooks job_hooks) : hooks(std::move(job_hooks)) {}
  ControlHooks hooks;
  OutputRing ring;
  struct Watched {  // a rank that clients requested by number
    int clients = 0;
    bool answered = true;
  };
  std::map<int, Watched> watched;
  std::optional<int> code;  // set when the job is over
};

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
  void unwatch(int rank);
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

}  // namespace ds::launcher
