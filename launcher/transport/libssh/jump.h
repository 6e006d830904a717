// Session with a jump host, and its direct-tcpip channels to targets. Each channel is connected to
// one end of a socket pair; the other end is the socket of the target's session.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "launcher/transport/libssh/session.h"

namespace ds::launcher::libssh {

class Forward : public std::enable_shared_from_this<Forward> {
 public:
  /// `attend` requests a call of proceed() soon, outside of libssh's callbacks.
  Forward(asio::io_context& io, std::string host, int port, std::function<void(Forwarded)> done,
          std::function<void(std::shared_ptr<Forward>)> attend)
      : host_(std::move(host)),
        port_(port),
        done_(std::move(done)),
        attend_(std::move(attend)),
        near_(io) {}

  enum class Next { wait, attend, over };
  /// Opens the channel, or moves bytes in both directions. `last_number` counts the channels of
  /// the session as libssh does in its messages.
  Next proceed(ssh_session session, unsigned int& last_number);
  /// Returns true once, when give_answer() may be called.
  [[nodiscard]] bool has_new_answer() { return std::exchange(answer_ready_, false); }
  void give_answer() { std::exchange(done_, nullptr)(std::move(answer_)); }
  /// Frees the channel; no event comes after that.
  void let_go();

 private:
  enum class State { fresh, opening, open };

  void open(ssh_session session);
  Next opened(ssh_session session);
  Next refused(const std::string& error);
  Next to_channel();
  void to_socket();
  std::size_t write_socket(const char* data, std::size_t size);
  void arm(asio::posix::descriptor_base::wait_type type, bool& armed);
  void arm_read() { arm(asio::posix::descriptor_base::wait_read, read_armed_); }
  void arm_write() { arm(asio::posix::descriptor_base::wait_write, write_armed_); }

  static int on_data(ssh_session, ssh_channel, void* data, std::uint32_t count, int is_stderr,
                     void* self);
  static void on_eof(ssh_session, ssh_channel, void* self);

  std::string host_;
  int port_;
  std::function<void(Forwarded)> done_;
  std::function<void(std::shared_ptr<Forward>)> attend_;
  Forwarded answer_;
  bool answer_ready_ = false;
  State state_ = State::fresh;
  asio::posix::stream_descriptor near_;  // our end of the pair
  ssh_channel channel_ = nullptr;
  unsigned int number_ = 0;
  ssh_channel_callbacks_struct callbacks_{};
  std::string up_;    // read from the socket, and the channel has no room
  std::string down_;  // taken from the channel, and the socket has no room
  bool socket_full_ = false;
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool far_eof_ = false;
};

class JumpSession final : public Session, public SshJump {
 public:
  using Session::Session;
  JumpSession(const JumpSession&) = delete;
  JumpSession& operator=(const JumpSession&) = delete;
  ~JumpSession() override { release(); }

  void forward(const std::string& host, int port, std::function<void(Forwarded)> done) override;
  [[nodiscard]] std::size_t forwards() const override { return forwards_.size(); }

 private:
  void begin() override { tell(events_.on_up); }
  bool proceed() override;
  void let_go() override;
  void attend_all();

  std::set<std::shared_ptr<Forward>> forwards_;
  std::set<std::shared_ptr<Forward>> attend_;  // for the next turn of the event loop
  unsigned int last_number_ = 42;              // libssh starts counting here
};

}  // namespace ds::launcher::libssh
