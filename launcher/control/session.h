// One client of a job's private socket.
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

/// What all clients of a job share.
struct ControlContext {
  explicit ControlContext(ControlHooks job_hooks) : hooks(std::move(job_hooks)) {}
  ControlHooks hooks;
  OutputRing ring;
  struct Watched {  // a rank that clients ask for by its number
    int clients = 0;
    bool answered = true;
  };
  std::map<int, Watched> watched;
  std::optional<int> code;  // the job is over
};

class ControlSession : public std::enable_shared_from_this<ControlSession> {
 public:
  using Socket = asio::local::stream_protocol::socket;

  /// The context lives as long as this does. `on_closed` is called once.
  ControlSession(Socket socket, std::shared_ptr<ControlContext> context,
                 std::function<void(const ControlSession*)> on_closed);

  /// Only for the user's own clients.
  void start();
  /// What the rank wrote last is in the ring.
  void answered(int rank);
  /// For a client that wants a checkpoint.
  void saved(const CheckpointOutcome& outcome);
  /// There is something new in the context.
  void pump();
  void close();

 private:
  struct Reader {  // of the ring
    std::uint64_t at = 0;
    std::optional<std::uint64_t> caught_at;  // where Caught is to be sent
    int rank = -1;
    bool follow = false;
    bool awaits = false;  // what the rank wrote last
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
    refuse("this is no request");
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
  bool last_ = false;  // close when all is written
  bool closed_ = false;
};

}  // namespace ds::launcher
