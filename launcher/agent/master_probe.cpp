#include "launcher/agent/master_probe.h"

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

#include "launcher/agent/master_door.h"

namespace ds::launcher {
namespace {

constexpr const char* kStranger = "another program answers there";

struct Target {
  sockaddr_storage address{};
  socklen_t size = 0;  // 0: the text is not an address
};

Target target_of(const std::string& text, std::uint16_t port) {
  Target target;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&target.address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&target.address);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    target.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    target.size = sizeof *v6;
  }
  return target;
}

}  // namespace

void MasterProbe::start(const Probe& probe, Clock::time_point now) {
  stop();
  probe_ = probe;
  due_ = now + std::chrono::milliseconds(probe.limit_ms);
  events_.reset(::epoll_create1(EPOLL_CLOEXEC));
  const std::size_t count = std::min(probe_.addresses.size(), kMostAddresses);
  attempts_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) dial(static_cast<std::uint16_t>(i));
}

void MasterProbe::stop() {
  attempts_.clear();
  results_.clear();
  events_.reset();
  due_ = Clock::time_point::max();
}

void MasterProbe::dial(std::uint16_t index) {
  Attempt& attempt = attempts_.emplace_back(Attempt{.index = index});
  const Target target = target_of(probe_.addresses[index], probe_.port);
  if (target.size == 0) return settle(attempt, "not an address");
  attempt.socket.reset(
      ::socket(target.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!attempt.socket) return settle(attempt, std::strerror(errno));
  const auto* where = reinterpret_cast<const sockaddr*>(&target.address);
  if (::connect(attempt.socket.get(), where, target.size) != 0 && errno != EINPROGRESS)
    return settle(attempt, std::strerror(errno));
  epoll_event event{};
  event.events = EPOLLOUT;
  event.data.u32 = index;
  ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, attempt.socket.get(), &event);
}

std::vector<Probed::Result> MasterProbe::turn(Clock::time_point now) {
  if (due_ == Clock::time_point::max()) return std::exchange(results_, {});
  std::array<epoll_event, kMostAddresses> ready{};
  const int count =
      events_ ? ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), 0) : 0;
  for (int i = 0; i < count; ++i) go_on(attempts_[ready[static_cast<std::size_t>(i)].data.u32]);
  if (now >= due_) {
    const std::string late = fmt::format("no answer within {} s", probe_.limit_ms / 1000.0);
    for (Attempt& attempt : attempts_) settle(attempt, late);
    due_ = Clock::time_point::max();
  }
  return std::exchange(results_, {});
}

void MasterProbe::go_on(Attempt& attempt) {
  if (attempt.settled) return;
  if (attempt.asked) return hear(attempt);
  ask(attempt);
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
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = attempt.index;
  ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, attempt.socket.get(), &event);
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
