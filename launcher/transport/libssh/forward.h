// One direct-tcpip channel through a jump host, connected to one end of a socket pair. The other
// end is the socket of the target's session.
#pragma once

#include <functional>
#include <memory>
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
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;
  ~Forward() = default;

  enum class Next { wait, attend, over };
  /// Opens the channel, or moves bytes in both directions. `last_number` counts the channels of
  /// the session as libssh does in its messages.
  Next proceed(ssh_session session, unsigned int& last_number);
  [[nodiscard]] bool has_answer() const { return answer_ready_ && done_; }
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
  void arm_read();
  void arm_write();

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

}  // namespace ds::launcher::libssh
