#include "launcher/copy/tls_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/base/deadline.h"
#include "engine/base/freed.h"

namespace ds::launcher::copy {
namespace {

constexpr std::size_t kReadSize = std::size_t{256} << 10;
constexpr int kChildrenWaiting = 16;
using Addresses = std::unique_ptr<addrinfo, Freed<::freeaddrinfo>>;

Addresses numeric_address(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    return nullptr;
  return Addresses(found);
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool wait_for(int fd, short events, Deadline deadline) {
  pollfd polled{fd, events, 0};
  return ::poll(&polled, 1, static_cast<int>(deadline.remaining().count())) == 1;
}

}  // namespace

std::string TlsSocket::write_out() {
  const std::size_t count = session_.take_wire(out_);
  for (std::size_t at = 0; at < count;) {
    const ssize_t wrote =
        ::send(socket_.get(), out_.data() + at, count - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (wrote > 0) {
      at += static_cast<std::size_t>(wrote);
    } else if (errno == EAGAIN) {
      if (!wait_for(socket_.get(), POLLOUT, Deadline::after(kWriteLimit)))
        return fmt::format("nothing was read for {} s", kWriteLimit.count());
    } else if (errno != EINTR) {
      return std::strerror(errno);
    }
  }
  return {};
}

std::string TlsSocket::shake_hands() {
  const Deadline deadline = Deadline::after(kOpenLimit);
  Bytes plain;  // may come with the last message of the handshake
  std::string problem = write_out();
  while (problem.empty() && !session_.established()) {
    if (deadline.passed()) return "the other side did not prove the key in time";
    problem = receive(plain, deadline.remaining());
  }
  early_ = std::move(plain);
  return problem;
}

std::string TlsSocket::send(std::span<const std::byte> bytes) {
  session_.send(bytes);
  return write_out();
}

std::string TlsSocket::receive(Bytes& plain, std::chrono::milliseconds limit, int wake) {
  if (!early_.empty()) {
    plain = std::exchange(early_, {});
    return {};
  }
  pollfd polled[] = {{socket_.get(), POLLIN, 0}, {wake, POLLIN, 0}};
  if (::poll(polled, 2, static_cast<int>(limit.count())) <= 0 || polled[0].revents == 0) return {};
  in_.resize(kReadSize);
  const ssize_t got = ::recv(socket_.get(), in_.data(), in_.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? std::string() : std::strerror(errno);
  if (got == 0) return "the connection ended";
  session_.receive(std::span(in_).first(static_cast<std::size_t>(got)), plain);
  if (session_.problem()) return *session_.problem();
  return write_out();
}

UniqueFd listen_at(const std::string& address, std::uint16_t& port) {
  const Addresses found = numeric_address(address, 0);
  if (!found) return UniqueFd();
  UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  const bool listens = ::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0 &&
                       ::listen(socket.get(), kChildrenWaiting) == 0 &&
                       ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0;
  if (!listens) return UniqueFd();
  port = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&own)->sin6_port
                                         : reinterpret_cast<sockaddr_in*>(&own)->sin_port);
  return socket;
}

UniqueFd connect_to(const std::string& address, std::uint16_t port, std::string& problem) {
  const Addresses found = numeric_address(address, port);
  UniqueFd socket;
  if (found)
    socket.reset(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int error = socket ? 0 : EINVAL;
  if (socket && ::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) error = errno;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof error;
    if (!wait_for(socket.get(), POLLOUT, Deadline::after(TlsSocket::kOpenLimit)))
      error = ETIMEDOUT;
    else if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = errno;
  }
  if (error == 0) {
    send_at_once(socket.get());
    return socket;
  }
  problem = fmt::format("{} port {}: {}", address, port, std::strerror(error));
  return UniqueFd();
}

}  // namespace ds::launcher::copy
