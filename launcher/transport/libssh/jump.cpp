// Session with a jump host, and its direct-tcpip channels to targets. Each channel is connected to
// one end of a socket pair; the other end is the socket of the target's session.
#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "launcher/transport/libssh/session.h"

namespace ds::launcher {

namespace libssh {
namespace {

constexpr int kPollsPerWake = 16;
constexpr int kReadsPerTurn = 16;
constexpr unsigned int kResourceShortage = 4;  // RFC 4254, 5.1
constexpr unsigned int kProhibited = 1;
using Chunk = std::array<char, 16384>;

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
  Next proceed(ssh_session session, unsigned int& last_number) {
    if (state_ == State::fresh) {
      open(session);
      number_ = ++last_number;
    }
    if (state_ == State::opening) return opened(session);
    if (socket_full_ || far_eof_ || !down_.empty()) to_socket();
    if (!near_.is_open() || (far_eof_ && !socket_full_)) return Next::over;
    return to_channel();
  }

  /// Returns true once, when give_answer() may be called.
  [[nodiscard]] bool has_new_answer() { return std::exchange(answer_ready_, false); }
  void give_answer() { std::exchange(done_, nullptr)(std::move(answer_)); }
  /// Frees the channel; no event comes after that.
  void let_go() {
    asio::error_code ignored;
    near_.close(ignored);
    if (channel_ == nullptr) return;
    ssh_remove_channel_callbacks(channel_, &callbacks_);
    ssh_channel_free(std::exchange(channel_, nullptr));
  }

 private:
  enum class State { fresh, opening, open };

  void open(ssh_session session) {
    channel_ = ssh_channel_new(session);
    DS_ASSERT(channel_ != nullptr, "ssh_channel_new fails only without memory");
    callbacks_.userdata = this;
    callbacks_.channel_data_function = [](ssh_session, ssh_channel, void* data, std::uint32_t count,
                                          int, void* self) {
      return static_cast<Forward*>(self)->take(static_cast<const char*>(data), count);
    };
    callbacks_.channel_eof_function = [](ssh_session, ssh_channel, void* self) {
      static_cast<Forward*>(self)->end();
    };
    callbacks_.channel_close_function = callbacks_.channel_eof_function;
    ssh_callbacks_init(&callbacks_);
    ssh_set_channel_callbacks(channel_, &callbacks_);
    state_ = State::opening;
  }

  Next opened(ssh_session session) {
    const int rc = ssh_channel_open_forward(channel_, host_.c_str(), port_, "127.0.0.1", 0);
    if (rc == SSH_AGAIN) return Next::attend;
    answer_ready_ = true;
    if (rc != SSH_OK) return refused(ssh_get_error(session));
    int pair[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
      answer_.problem = std::string("no socket pair: ") + std::strerror(errno);
      return Next::over;
    }
    near_.assign(pair[0]);
    answer_.socket = UniqueFd(pair[1]);
    state_ = State::open;
    arm_read();
    return Next::wait;
  }

  /// Parses "Channel opening failure: channel N error (CODE) TEXT". libssh keeps one text for all
  /// channels, so a text with another number belongs to another channel.
  Next refused(const std::string& error) {
    const std::string begin = fmt::format("channel {} error (", number_);
    const std::size_t at = error.find(begin);
    answer_.problem = "the jump host refused the channel";
    if (at == std::string::npos) return Next::over;
    const std::string rest = error.substr(at + begin.size());
    const std::size_t end = rest.find(") ");
    const unsigned long code = std::strtoul(rest.c_str(), nullptr, 10);
    const std::string said = end == std::string::npos ? std::string() : rest.substr(end + 2);
    answer_.no_room = code == kResourceShortage;
    answer_.problem = fmt::format("the jump host says: {}{}", said.empty() ? "refused" : said,
                                  code == kProhibited ? " (AllowTcpForwarding, PermitOpen?)" : "");
    return Next::over;
  }

  /// Sends what the target's session has written to the jump host.
  Next to_channel() {
    Chunk chunk;
    for (int reads = 0; reads < kReadsPerTurn; ++reads) {
      if (up_.empty()) {
        const ssize_t count =
            ::recv(near_.native_handle(), chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
          arm_read();
          return Next::wait;
        }
        if (count <= 0) return Next::over;  // the target's session has gone
        up_.assign(chunk.data(), static_cast<std::size_t>(count));
      }
      const int taken =
          ssh_channel_write(channel_, up_.data(), static_cast<std::uint32_t>(up_.size()));
      if (taken < 0) return Next::over;
      up_.erase(0, static_cast<std::size_t>(taken));
      if (!up_.empty())
        return Next::attend;  // no window: tried again with every packet of the jump host
    }
    arm_read();
    return Next::wait;
  }

  /// Writes what libssh kept while the socket was full.
  void to_socket() {
    socket_full_ = false;
    down_.erase(0, write_socket(down_.data(), down_.size()));
    Chunk chunk;
    while (down_.empty()) {
      const int count = ssh_channel_read_nonblocking(channel_, chunk.data(), chunk.size(), 0);
      if (count <= 0) break;
      down_.assign(chunk.data(), static_cast<std::size_t>(count));
      down_.erase(0, write_socket(down_.data(), down_.size()));
    }
    if (socket_full_) arm_write();
  }

  std::size_t write_socket(const char* data, std::size_t size) {
    std::size_t done = 0;
    while (done < size && near_.is_open()) {
      const ssize_t count =
          ::send(near_.native_handle(), data + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count > 0) {
        done += static_cast<std::size_t>(count);
      } else if (errno == EAGAIN) {
        socket_full_ = true;
        break;
      } else if (errno != EINTR) {
        return size;  // the reader has gone: to_channel() sees the end
      }
    }
    return done;
  }

  void arm(asio::posix::descriptor_base::wait_type type, bool& armed) {
    if (std::exchange(armed, true)) return;
    near_.async_wait(type, [self = shared_from_this(), &armed](const asio::error_code& error) {
      armed = false;
      if (!error && self->channel_ != nullptr) self->attend_(self);
    });
  }

  void arm_read() { arm(asio::posix::descriptor_base::wait_read, read_armed_); }
  void arm_write() { arm(asio::posix::descriptor_base::wait_write, write_armed_); }

  int take(const char* bytes, std::size_t count) {
    // Bytes that are not taken stay in the channel's buffer, whose window closes.
    if (socket_full_ || !down_.empty()) return 0;
    const std::size_t taken = write_socket(bytes, count);
    if (socket_full_) arm_write();
    return static_cast<int>(taken);
  }

  void end() {
    far_eof_ = true;
    attend_(shared_from_this());
  }

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
  ~JumpSession() override { release(); }

  void forward(const std::string& host, int port, std::function<void(Forwarded)> done) override {
    std::weak_ptr<Session> weak = weak_from_this();
    auto forward = std::make_shared<Forward>(io_, host, port, std::move(done),
                                             [this, weak](std::shared_ptr<Forward> which) {
                                               const auto self = weak.lock();
                                               if (!self) return;
                                               attend_.insert(std::move(which));
                                               post_wake();
                                             });
    forwards_.insert(forward);
    attend_.insert(std::move(forward));
    post_wake();
  }

  [[nodiscard]] std::size_t forwards() const override { return forwards_.size(); }

 private:
  void begin() override { tell(events_.on_up); }
  bool proceed() override {
    int polls = 0;
    int rc = SSH_OK;
    while (rc == SSH_OK && polls++ < kPollsPerWake && !dropped()) {
      attend_all();
      rc = ssh_event_dopoll(poll_, 0);
    }
    attend_all();
    if (dropped())
      fail(ChannelEnd::Kind::lost, stage::kRunning, "the ssh connection broke: " + error_text());
    return rc == SSH_OK && polls > kPollsPerWake;
  }

  void let_go() override {
    attend_.clear();
    for (const auto& forward : forwards_) forward->let_go();
    forwards_.clear();
  }

  void attend_all() {
    std::vector<std::shared_ptr<Forward>> again;
    for (const auto& forward : std::exchange(attend_, {})) {
      if (!forwards_.contains(forward)) continue;
      const Forward::Next next = forward->proceed(session_, last_number_);
      if (forward->has_new_answer()) tell([forward] { forward->give_answer(); });
      if (next == Forward::Next::attend) again.push_back(forward);
      if (next == Forward::Next::over) {
        forward->let_go();
        forwards_.erase(forward);
      }
    }
    attend_.insert(again.begin(), again.end());
  }

  std::set<std::shared_ptr<Forward>> forwards_;
  std::set<std::shared_ptr<Forward>> attend_;  // for the next turn of the event loop
  unsigned int last_number_ = 42;              // libssh starts counting here
};

}  // namespace
}  // namespace libssh

std::shared_ptr<SshJump> make_ssh_jump(asio::io_context& io, SshKeyring& keyring, SshLogin login,
                                       SshEvents events) {
  auto session =
      std::make_shared<libssh::JumpSession>(io, keyring, std::move(login), std::move(events));
  session->start();
  return {session.get(), [session](SshJump*) { session->dismiss(); }};
}

}  // namespace ds::launcher
