#include "launcher/agent/master_addr.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ds::launcher {
namespace {

constexpr std::chrono::milliseconds kAcceptPause{50};
constexpr const char* kStranger = "another program answers there";

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;  // 0: the text is not an address
  [[nodiscard]] const sockaddr* any() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

Address address_of(const std::string& text, std::uint16_t port) {
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.bytes);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.bytes);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    address.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    address.size = sizeof *v6;
  }
  v4->sin_port = htons(port);  // sin_port and sin6_port have the same offset.
  return address;
}

UniqueFd stream_socket(const Address& address) {
  constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  return UniqueFd(::socket(address.bytes.ss_family, kType, 0));
}

/// Adds or changes (`how`) a descriptor; epoll_wait() returns `tag` for it.
void watch(const UniqueFd& events, const UniqueFd& fd, std::uint32_t what, int how,
           std::uint32_t tag) {
  epoll_event event{};
  event.events = what;
  event.data.u32 = tag;
  ::epoll_ctl(events.get(), how, fd.get(), &event);
}

/// Returns the tags of descriptors that are ready.
std::vector<std::uint32_t> ready_of(const UniqueFd& events) {
  std::array<epoll_event, 64> ready{};
  const int count =
      events ? ::epoll_wait(events.get(), ready.data(), static_cast<int>(ready.size()), 0) : 0;
  std::vector<std::uint32_t> tags;
  for (int i = 0; i < count; ++i) tags.push_back(ready[static_cast<std::size_t>(i)].data.u32);
  return tags;
}

HeldPort bind_to(const Address& any) {
  HeldPort held{stream_socket(any)};
  if (!held.socket) return {.socket = {}, .problem = errno};
  const int fd = held.socket.get();
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (any.bytes.ss_family == AF_INET6)
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 bound{};
  socklen_t length = sizeof bound;
  if (::bind(fd, any.any(), any.size) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0)
    return {.socket = {}, .problem = errno};
  held.port = ntohs(bound.sin6_port);
  return held;
}

/// Compares in constant time.
bool same_secret(const std::string& secret, const std::string& said) {
  if (secret.size() != said.size()) return false;
  volatile unsigned char different = 0;
  for (std::size_t i = 0; i < secret.size(); ++i)
    different = static_cast<unsigned char>(different | (secret[i] ^ said[i]));
  return different == 0;
}

}  // namespace

HeldPort hold_port(std::uint16_t wanted) {
  HeldPort held = bind_to(address_of("::", wanted));
  const bool without_v6 = held.problem == EAFNOSUPPORT || held.problem == EADDRNOTAVAIL;
  return without_v6 ? bind_to(address_of("0.0.0.0", wanted)) : std::move(held);
}

void MasterDoor::open(const HeldPort& held, std::string question, std::string answer) {
  close();
  if (question.empty() || held.port == 0) return;
  listener_ = hold_port(held.port).socket;
  if (!listener_ || ::listen(listener_.get(), SOMAXCONN) != 0) return listener_.reset();
  events_.reset(::epoll_create1(EPOLL_CLOEXEC));
  question_ = std::move(question);
  answer_ = std::move(answer);
  watch(events_, listener_, EPOLLIN, EPOLL_CTL_ADD, kListener);
  accepting_ = true;
}

void MasterDoor::close() {
  while (!peers_.empty()) drop(peers_.begin());
  listener_.reset();
  events_.reset();
}

Clock::time_point MasterDoor::wake_at() const {
  if (!events_) return Clock::time_point::max();
  Clock::time_point at = peers_.empty() ? Clock::time_point::max() : peers_.begin()->second.until;
  if (!accepting_ && peers_.size() < kMostPeers) at = std::min(at, accept_after_);
  return at;
}

void MasterDoor::turn(Clock::time_point now) {
  if (!events_) return;
  bool newcomers = false;
  for (const std::uint32_t tag : ready_of(events_)) {
    newcomers = newcomers || tag == kListener;
    const auto peer = peers_.find(tag);
    if (peer != peers_.end() && !hear(peer->second)) drop(peer);
  }
  if (newcomers) accept_some(now);
  while (!peers_.empty() && now >= peers_.begin()->second.until) drop(peers_.begin());
  // The listener is watched only while peers can be accepted; others wait in its backlog.
  const bool may = peers_.size() < kMostPeers && now >= accept_after_;
  if (std::exchange(accepting_, may) != may)
    watch(events_, listener_, may ? EPOLLIN : 0U, EPOLL_CTL_MOD, kListener);
}

void MasterDoor::accept_some(Clock::time_point now) {
  while (peers_.size() < kMostPeers) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      const bool goes_on = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
      if (!goes_on) accept_after_ = now + kAcceptPause;
      return;
    }
    watch(events_, socket, EPOLLIN, EPOLL_CTL_ADD, ++last_peer_);
    peers_[last_peer_] = {.socket = std::move(socket), .until = now + kPeerLimit};
  }
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
  ::setsockopt(peer->second.socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  peers_.erase(peer);
}

void MasterProbe::start(const Probe& probe, Clock::time_point now) {
  stop();
  probe_ = probe;
  due_ = now + std::chrono::milliseconds(probe.limit_ms);
  events_.reset(::epoll_create1(EPOLL_CLOEXEC));
  attempts_.resize(std::min(probe_.addresses.size(), kMostAddresses));
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    attempts_[i].index = static_cast<std::uint16_t>(i);
    dial(attempts_[i]);
  }
}

void MasterProbe::stop() {
  attempts_.clear();
  results_.clear();
  events_.reset();
  due_ = Clock::time_point::max();
}

void MasterProbe::dial(Attempt& attempt) {
  const Address address = address_of(probe_.addresses[attempt.index], probe_.port);
  if (address.size == 0) return settle(attempt, "not an address");
  attempt.socket = stream_socket(address);
  if (!attempt.socket) return settle(attempt, std::strerror(errno));
  if (::connect(attempt.socket.get(), address.any(), address.size) != 0 && errno != EINPROGRESS)
    return settle(attempt, std::strerror(errno));
  watch(events_, attempt.socket, EPOLLOUT, EPOLL_CTL_ADD, attempt.index);
}

std::vector<Probed::Result> MasterProbe::turn(Clock::time_point now) {
  for (const std::uint32_t index : ready_of(events_)) {
    Attempt& attempt = attempts_[index];
    if (!attempt.settled) attempt.asked ? hear(attempt) : ask(attempt);
  }
  if (now >= due_) {
    const std::string late = fmt::format("no answer within {} s", probe_.limit_ms / 1000.0);
    for (Attempt& attempt : attempts_) settle(attempt, late);
    due_ = Clock::time_point::max();
  }
  return std::exchange(results_, {});
}

void MasterProbe::ask(Attempt& attempt) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(attempt.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return settle(attempt, std::strerror(error));
  const std::string& question = probe_.question;
  if (::send(attempt.socket.get(), question.data(), question.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(question.size()))
    return settle(attempt, kStranger);
  attempt.asked = true;
  watch(events_, attempt.socket, EPOLLIN, EPOLL_CTL_MOD, attempt.index);
}

void MasterProbe::hear(Attempt& attempt) {
  std::array<char, 64> buffer{};
  const ssize_t got = ::recv(attempt.socket.get(), buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return settle(attempt, kStranger);
  attempt.heard.append(buffer.data(), static_cast<std::size_t>(got));
  if (attempt.heard.size() < probe_.answer.size()) return;
  settle(attempt, same_secret(probe_.answer, attempt.heard) ? "" : kStranger);
}

void MasterProbe::settle(Attempt& attempt, std::string problem) {
  if (std::exchange(attempt.settled, true)) return;
  attempt.socket.reset();
  results_.push_back({.index = attempt.index, .problem = std::move(problem)});
}

}  // namespace ds::launcher
