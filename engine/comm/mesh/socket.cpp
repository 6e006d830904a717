// TCP sockets with deadlines: every wait is one poll(2) for the time left.
#include "engine/comm/mesh/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <system_error>

#include "engine/base/error.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;

using AddressInfo = std::unique_ptr<addrinfo, decltype([](addrinfo* p) { ::freeaddrinfo(p); })>;

std::string text_of(int error_number) { return std::generic_category().message(error_number); }

// Returns null and sets `why` when the name does not resolve.
AddressInfo resolve(const Endpoint& endpoint, int flags, std::string& why) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string& name = endpoint.address;
  const int error = ::getaddrinfo(name.empty() ? nullptr : name.c_str(),
                                  std::to_string(endpoint.port).c_str(), &hints, &list);
  if (error != 0) why = ::gai_strerror(error);
  return AddressInfo(error == 0 ? list : nullptr);
}

void set_option(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof value);
}

// Socket errors show in the next read, write or SO_ERROR.
bool wait_for(int fd, short events, Deadline deadline) {
  while (true) {
    pollfd entry{fd, events, 0};
    const int ready =
        ::poll(&entry, 1, static_cast<int>(std::min(deadline.remaining(), 3'600'000ms).count()));
    if (ready > 0) return true;
    if (ready == 0 && deadline.passed()) return false;
    if (ready < 0 && errno != EINTR) throw_errno("poll", errno);
  }
}

// Returns an invalid descriptor and sets `why` when listening failed.
UniqueFd try_listen(const addrinfo& info, int& why) {
  UniqueFd fd(
      ::socket(info.ai_family, info.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, info.ai_protocol));
  if (fd) {
    set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (info.ai_family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (::bind(fd.get(), info.ai_addr, info.ai_addrlen) == 0 && ::listen(fd.get(), 1024) == 0)
      return fd;
  }
  why = errno;
  return {};
}

// Makes one attempt on one address. A dial inside the ephemeral port range can connect to itself
// when nothing listens there.
UniqueFd try_dial(const addrinfo& info, Deadline deadline, std::string& why) {
  UniqueFd fd(
      ::socket(info.ai_family, info.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, info.ai_protocol));
  if (!fd) throw_errno("socket", errno);
  int error = ::connect(fd.get(), info.ai_addr, info.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    if (!wait_for(fd.get(), POLLOUT, deadline)) {
      why = "no answer";
      return {};
    }
    socklen_t length = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error != 0) {
    why = text_of(error);
    return {};
  }
  if (local_endpoint(fd.get()) == peer_endpoint(fd.get())) {
    why = "nothing listens there";
    return {};
  }
  set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  return fd;
}

// `ask`: getsockname(2) or getpeername(2).
Endpoint endpoint_of(int fd, int (*ask)(int, sockaddr*, socklen_t*) noexcept) {
  sockaddr_storage storage{};
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  socklen_t length = sizeof storage;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (ask(fd, address, &length) != 0 ||
      ::getnameinfo(address, length, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  std::string text(host.data());
  // A listener for both families shows IPv4 peers as ::ffff:a.b.c.d; peers must dial the plain
  // form.
  if (text.starts_with("::ffff:") && text.find('.') != std::string::npos) text.erase(0, 7);
  return {.address = text, .port = std::atoi(port.data())};
}

}  // namespace

std::string Endpoint::text() const {
  return address.find(':') == std::string::npos ? fmt::format("{}:{}", address, port)
                                                : fmt::format("[{}]:{}", address, port);
}

bool Endpoint::is_loopback() const { return address.starts_with("127.") || address == "::1"; }

UniqueFd listen_on(const Endpoint& at) {
  std::string unresolved;
  int why = EADDRNOTAVAIL;
  const auto try_on = [&](const std::string& address) {
    const AddressInfo info = resolve({address, at.port}, AI_NUMERICHOST | AI_PASSIVE, unresolved);
    return info ? try_listen(*info, why) : UniqueFd();
  };
  UniqueFd fd = try_on(at.address == "localhost" ? "127.0.0.1" : at.address);
  for (const char* any : {"::", "0.0.0.0"})
    if (!fd && why == EADDRNOTAVAIL) fd = try_on(any);
  if (fd) return fd;
  throw Error(ErrorKind::comm, fmt::format("cannot listen on {}: {}", at.text(), text_of(why)),
              why == EADDRINUSE
                  ? "another program listens there; choose another MASTER_PORT or stop that program"
                  : std::string());
}

UniqueFd dial(const Endpoint& to, Deadline deadline) {
  std::string why = "no answer";
  auto pause = 10ms;
  const Clock::time_point begun = Clock::now();
  for (auto word_at = begun + 5s;;) {
    if (const AddressInfo list = resolve(to, 0, why)) {
      for (const addrinfo* info = list.get(); info != nullptr; info = info->ai_next) {
        // Another address may answer, or the name may soon stand for another one.
        const Deadline attempt(std::min(deadline.at(), Clock::now() + 5s));
        UniqueFd fd = try_dial(*info, attempt, why);
        if (fd) return fd;
      }
    }
    if (deadline.passed())
      throw Error(ErrorKind::comm, fmt::format("{} did not answer: {}", to.text(), why));
    if (const auto waited = Clock::now() - begun; begun + waited >= word_at) {
      fmt::print(stderr, "no answer from {} after {:.3g} s: {}; still waiting\n", to.text(),
                 seconds_of(waited), why);
      word_at = begun + 2 * waited;
    }
    ::poll(nullptr, 0, static_cast<int>(std::min(pause, deadline.remaining()).count()));
    pause = std::min(pause * 2, 200ms);
  }
}

Endpoint local_endpoint(int fd) { return endpoint_of(fd, ::getsockname); }
Endpoint peer_endpoint(int fd) { return endpoint_of(fd, ::getpeername); }

void watch_peer(int fd) {
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

IoResult read_exactly(int fd, std::span<std::byte> into, Deadline deadline) {
  while (!into.empty()) {
    const ssize_t got = ::recv(fd, into.data(), into.size(), MSG_DONTWAIT);
    if (got > 0) {
      into = into.subspan(static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EAGAIN) {
      if (!wait_for(fd, POLLIN, deadline)) return IoResult::late;
    } else if (got == 0 || errno != EINTR) {
      return IoResult::closed;
    }
  }
  return IoResult::done;
}

IoResult write_all(int fd, std::span<const std::byte> data, Deadline deadline) {
  while (!data.empty()) {
    const ssize_t sent = ::send(fd, data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      data = data.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for(fd, POLLOUT, deadline)) return IoResult::late;
    } else if (errno != EINTR) {
      return IoResult::closed;
    }
  }
  return IoResult::done;
}

}  // namespace ds::comm
