// Moves bytes between a jump host's channels and the targets' sessions.
#include "launcher/transport/libssh/jump.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace ds::launcher::libssh {

namespace {

constexpr int kPollsPerWake = 16;
constexpr int kReadsPerTurn = 16;
constexpr unsigned int kResourceShortage = 4;  // RFC 4254, 5.1
constexpr unsigned int kProhibited = 1;
using Chunk = std::array<char, 16384>;

}  // namespace

Forward::Next Forward::proceed(ssh_session session, unsigned int& last_number) {
  if (state_ == State::fresh) {
    open(session);
    number_ = ++last_number;
  }
  if (state_ == State::opening) return opened(session);
  if (socket_full_ || far_eof_ || !down_.empty()) to_socket();
  if (!near_.is_open() || (far_eof_ && !socket_full_)) return Next::over;
  return to_channel();
}

void Forward::open(ssh_session session) {
  channel_ = ssh_channel_new(session);
  DS_ASSERT(channel_ != nullptr, "ssh_channel_new fails only without memory");
  callbacks_.userdata = this;
  callbacks_.channel_data_function = on_data;
  callbacks_.channel_eof_function = on_eof;
  callbacks_.channel_close_function = on_eof;
  ssh_callbacks_init(&callbacks_);
  ssh_set_channel_callbacks(channel_, &callbacks_);
  state_ = State::opening;
}

Forward::Next Forward::opened(ssh_session session) {
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
Forward::Next Forward::refused(const std::string& error) {
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
Forward::Next Forward::to_channel() {
  Chunk chunk;
  for (int reads = 0; reads < kReadsPerTurn; ++reads) {
    if (up_.empty()) {
      const ssize_t count = ::recv(near_.native_handle(), chunk.data(), chunk.size(), MSG_DONTWAIT);
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
void Forward::to_socket() {
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

std::size_t Forward::write_socket(const char* data, std::size_t size) {
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

void Forward::arm(asio::posix::descriptor_base::wait_type type, bool& armed) {
  if (std::exchange(armed, true)) return;
  near_.async_wait(type, [self = shared_from_this(), &armed](const asio::error_code& error) {
    armed = false;
    if (!error && self->channel_ != nullptr) self->attend_(self);
  });
}

void Forward::let_go() {
  asio::error_code ignored;
  near_.close(ignored);
  if (channel_ == nullptr) return;
  ssh_remove_channel_callbacks(channel_, &callbacks_);
  ssh_channel_free(std::exchange(channel_, nullptr));
}

int Forward::on_data(ssh_session, ssh_channel, void* data, std::uint32_t count, int, void* user) {
  auto* self = static_cast<Forward*>(user);
  // Bytes that are not taken stay in the channel's buffer, whose window closes.
  if (self->socket_full_ || !self->down_.empty()) return 0;
  const std::size_t taken = self->write_socket(static_cast<const char*>(data), count);
  if (self->socket_full_) self->arm_write();
  return static_cast<int>(taken);
}

void Forward::on_eof(ssh_session, ssh_channel, void* user) {
  auto* self = static_cast<Forward*>(user);
  self->far_eof_ = true;
  self->attend_(self->shared_from_this());
}

void JumpSession::forward(const std::string& host, int port, std::function<void(Forwarded)> done) {
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

bool JumpSession::proceed() {
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

void JumpSession::attend_all() {
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

void JumpSession::let_go() {
  attend_.clear();
  for (const auto& forward : forwards_) forward->let_go();
  forwards_.clear();
}

}  // namespace ds::launcher::libssh

namespace ds::launcher {

std::shared_ptr<SshJump> make_ssh_jump(asio::io_context& io, SshKeyring& keyring, SshLogin login,
                                       SshEvents events) {
  auto session =
      std::make_shared<libssh::JumpSession>(io, keyring, std::move(login), std::move(events));
  session->start();
  return {session.get(), [session](SshJump*) { session->dismiss(); }};
}

}  // namespace ds::launcher
