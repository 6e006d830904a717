// Sends, receives and polls of a static libssh (linker option --wrap). Uses nothing of libssh: it
// is part of every program that is linked with those options, whether libssh is or not.
#include "launcher/transport/libssh/socket_turn.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

extern "C" {
int __real_poll(pollfd* polls, nfds_t count, int timeout);
ssize_t __real_recv(int descriptor, void* where, std::size_t size, int flags);
ssize_t __real_send(int descriptor, const void* bytes, std::size_t size, int flags);
int __real_close(int descriptor);
}

namespace ds::launcher::libssh {

namespace {

constexpr std::size_t kMostKept = 16384;
constexpr std::size_t kSmall = 2048;  // of memory that a session may hold while nothing is kept
constexpr std::size_t kChunk = 4096;  // what libssh takes at a time

thread_local SessionSocket* current = nullptr;
thread_local std::array<char, kChunk> chunk;

}  // namespace

void SessionSocket::now_writable() {
  full_ = false;
  flush();
}

void SessionSocket::arrived(std::string_view bytes, bool more) {
  listening_ = false;
  may_read_ = more;
  if (given_.empty()) {
    given_ = bytes;
    return;
  }
  given_later_ = std::string(given_).append(bytes);  // libssh has not taken the last ones
  given_ = given_later_;
}

void SessionSocket::speak() {
  listening_ = false;
  flush();
}

void SessionSocket::farewell() {
  flush();
  silent_ = true;
}

int SessionSocket::poll(short events, short& shown) {
  shown = 0;
  if ((events & POLLIN) != 0 && fetch()) shown |= POLLIN;
  // Told once: libssh takes up the queue of each channel whenever it hears it.
  if ((events & POLLOUT) != 0 && !full_ && std::exchange(tell_writable_, false)) shown |= POLLOUT;
  return shown == 0 ? 0 : 1;
}

/// True if receive() has something to say.
bool SessionSocket::fetch() {
  if (!given_.empty() || ended_) return true;
  if (!may_read_) return error_ != 0;
  const ssize_t count = __real_recv(descriptor_, chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (count > 0) {
    listening_ = false;
    given_ = {chunk.data(), static_cast<std::size_t>(count)};
    may_read_ = given_.size() == chunk.size();  // else it was all there is: the next wait tells
    return true;
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    may_read_ = errno == EINTR;
    return error_ != 0;
  }
  if (count < 0) error_ = errno;
  ended_ = true;
  return true;
}

std::ptrdiff_t SessionSocket::receive(void* where, std::size_t size) {
  if (given_.empty() && !ended_ && error_ == 0)
    return __real_recv(descriptor_, where, size, MSG_DONTWAIT);
  if (given_.empty()) {
    errno = error_;
    return error_ != 0 ? -1 : 0;
  }
  const std::size_t count = std::min(size, given_.size());
  std::memcpy(where, given_.data(), count);
  given_.remove_prefix(count);
  return static_cast<std::ptrdiff_t>(count);
}

void SessionSocket::keep_given() {
  if (given_.empty()) return;
  given_later_ = std::string(given_);
  given_ = given_later_;
}

/// How much libssh need not keep itself; never "try again", which it takes for an error.
std::ptrdiff_t SessionSocket::send(const void* bytes, std::size_t size) {
  if (silent_) return static_cast<std::ptrdiff_t>(size);
  if (kept_.size() + size > kMostKept) flush();
  if (error_ != 0) {
    errno = error_;
    return -1;
  }
  if (!full_ && size <= kMostKept) {
    kept_.append(static_cast<const char*>(bytes), size);
    return static_cast<std::ptrdiff_t>(size);
  }
  ssize_t count = 0;
  if (!full_) count = __real_send(descriptor_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0 && errno != EAGAIN && errno != EINTR) {
    error_ = errno;
    return -1;
  }
  full_ = full_ || count < static_cast<ssize_t>(size);
  tell_writable_ = full_;
  return std::max<ssize_t>(count, 0);
}

void SessionSocket::flush() {
  if (listening_) return;
  std::size_t done = 0;
  while (done < kept_.size() && !full_ && descriptor_ >= 0) {
    const ssize_t count = __real_send(descriptor_, kept_.data() + done, kept_.size() - done,
                                      MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      full_ = true;
    } else if (errno != EINTR) {
      error_ = errno;
      done = kept_.size();
    }
  }
  kept_.erase(0, done);
  if (kept_.empty() && kept_.capacity() > kSmall) kept_ = {};
}

/// Another descriptor may have this one's number next.
void SessionSocket::closing() {
  flush();
  kept_ = {};
  descriptor_ = -1;
}

SocketTurn::SocketTurn(SessionSocket& socket) : socket_(socket), outer_(current) {
  if (outer_ != nullptr) outer_->keep_given();
  current = &socket;
}

bool SocketTurn::under_way() { return current != nullptr; }

bool SocketTurn::reads_ahead() { return true; }

SocketTurn::~SocketTurn() {
  socket_.flush();
  socket_.keep_given();
  current = outer_;
}

}  // namespace ds::launcher::libssh

using ds::launcher::libssh::current;

extern "C" {

int __wrap_poll(pollfd* polls, nfds_t count, int timeout) {
  if (current == nullptr || count != 1 || !current->is(polls->fd))
    return __real_poll(polls, count, timeout);
  const int ready = current->poll(polls->events, polls->revents);
  if (ready != 0 || timeout == 0) return ready;
  current->flush();
  return __real_poll(polls, count, timeout);
}

ssize_t __wrap_recv(int descriptor, void* where, std::size_t size, int flags) {
  if (current == nullptr || !current->is(descriptor))
    return __real_recv(descriptor, where, size, flags);
  return current->receive(where, size);
}

ssize_t __wrap_send(int descriptor, const void* bytes, std::size_t size, int flags) {
  if (current == nullptr || !current->is(descriptor))
    return __real_send(descriptor, bytes, size, flags);
  return current->send(bytes, size);
}

int __wrap_close(int descriptor) {
  if (current != nullptr && current->is(descriptor)) current->closing();
  return __real_close(descriptor);
}
}
