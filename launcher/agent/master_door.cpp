#include "launcher/agent/master_door.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace ds::launcher {
namespace {

constexpr std::chrono::milliseconds kAcceptPause{50};

void watch(int events, int fd, std::uint32_t what, int how) {
  epoll_event event{};
  event.events = what;
  event.data.fd = fd;
  ::epoll_ctl(events, how, fd, &event);
}

HeldPort bind_with(int family, const sockaddr* any, socklen_t size) {
  HeldPort held{UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  if (!held.socket) return {.socket = {}, .problem = errno};
  const int on = 1;
  const int off = 0;
  ::setsockopt(held.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6)
    ::setsockopt(held.socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::bind(held.socket.get(), any, size) != 0 ||
      ::getsockname(held.socket.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0)
    return {.socket = {}, .problem = errno};
  // sin_port and sin6_port have the same offset.
  held.port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  return held;
}

}  // namespace

HeldPort hold_port(std::uint16_t wanted) {
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(wanted);
  HeldPort held = bind_with(AF_INET6, reinterpret_cast<const sockaddr*>(&any6), sizeof any6);
  const bool without_v6 = held.problem == EAFNOSUPPORT || held.problem == EADDRNOTAVAIL;
  if (held.port != 0 || !without_v6) return held;
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(wanted);
  return bind_with(AF_INET, reinterpret_cast<const sockaddr*>(&any4), sizeof any4);
}

UniqueFd listen_beside(const HeldPort& held) {
  if (held.port == 0) return {};
  HeldPort beside = hold_port(held.port);
  if (!beside.socket || ::listen(beside.socket.get(), SOMAXCONN) != 0) return {};
  return std::move(beside.socket);
}

bool same_secret(const std::string& secret, const std::string& said) {
  if (secret.size() != said.size()) return false;
  volatile unsigned char different = 0;
  for (std::size_t i = 0; i < secret.size(); ++i)
    different = static_cast<unsigned char>(different | (secret[i] ^ said[i]));
  return different == 0;
}

void MasterDoor::open(const HeldPort& held, std::string question, std::string answer) {
  close();
  if (question.empty()) return;
  listener_ = listen_beside(held);
  if (!listener_) return;
  events_.reset(::epoll_create1(EPOLL_CLOEXEC));
  question_ = std::move(question);
  answer_ = std::move(answer);
  watch(events_.get(), listener_.get(), EPOLLIN, EPOLL_CTL_ADD);
  accepting_ = true;
}

void MasterDoor::close() {
  while (!peers_.empty()) drop(peers_.begin());
  listener_.reset();
  events_.reset();
}

Clock::time_point MasterDoor::wake_at() const {
  if (!events_) return Clock::time_point::max();
  Clock::time_point at = peers_.empty() ? Clock::time_point::max() : peers_.front().until;
  if (!accepting_ && peers_.size() < kMostPeers) at = std::min(at, accept_after_);
  return at;
}

void MasterDoor::turn(Clock::time_point now) {
  if (!events_) return;
  std::array<epoll_event, 64> ready{};
  const int count = ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), 0);
  bool newcomers = false;
  for (int i = 0; i < count; ++i) {
    const int fd = ready[static_cast<std::size_t>(i)].data.fd;
    newcomers = newcomers || fd == listener_.get();
    const auto peer = find(fd);
    if (peer != peers_.end() && !hear(*peer)) drop(peer);
  }
  if (newcomers) accept_some(now);
  while (!peers_.empty() && now >= peers_.front().until) drop(peers_.begin());
  accept_when_due(now);
}

void MasterDoor::accept_some(Clock::time_point now) {
  while (peers_.size() < kMostPeers) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      const bool goes_on = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
      if (!goes_on) accept_after_ = now + kAcceptPause;
      return;
    }
    watch(events_.get(), socket.get(), EPOLLIN, EPOLL_CTL_ADD);
    peers_.push_back({.socket = std::move(socket), .until = now + kPeerLimit});
  }
}

/// Watches the listener only while peers can be accepted; others wait in its backlog.
void MasterDoor::accept_when_due(Clock::time_point now) {
  const bool may = peers_.size() < kMostPeers && now >= accept_after_;
  if (may == accepting_) return;
  accepting_ = may;
  watch(events_.get(), listener_.get(), may ? EPOLLIN : 0U, EPOLL_CTL_MOD);
}

/// Returns false if the peer must be dropped.
bool MasterDoor::hear(Peer& peer) const {
  std::array<char, 64> buffer{};
  const ssize_t got = ::recv(peer.socket.get(), buffer.data(), buffer.size(), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0 || peer.answered) return false;
  peer.said.append(buffer.data(), static_cast<std::size_t>(got));
  if (peer.said.size() < question_.size()) return true;
  if (!same_secret(question_, peer.said)) return false;
  peer.answered = true;
  // The answer fits the buffer of a new socket. The peer closes first, so TIME_WAIT is on its side.
  return ::send(peer.socket.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(answer_.size());
}

/// Closes by RST: TIME_WAIT would keep the port in use.
void MasterDoor::drop(Peers::iterator peer) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(peer->socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  peers_.erase(peer);
}

MasterDoor::Peers::iterator MasterDoor::find(int fd) {
  return std::find_if(peers_.begin(), peers_.end(),
                      [fd](const Peer& peer) { return peer.socket.get() == fd; });
}

}  // namespace ds::launcher
