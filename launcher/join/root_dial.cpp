#include "launcher/join/root_dial.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/dns/look_schedule.h"

namespace ds::launcher {

namespace {

constexpr std::chrono::seconds kConnectLimit{5};
/// A lookup costs 2 datagrams, and a pause of 5 s would delay a node by up to 5 s.
constexpr std::chrono::milliseconds kLongestPause{2000};
constexpr std::chrono::milliseconds kLastRetry{1000};

}  // namespace

void RootDial::start(std::function<void(DialResult)> done) {
  done_ = std::move(done);
  root_ = roots_[next_++ % roots_.size()];
  names_.look_up(root_.host, [this](const DnsResult& result) { connect(result); });
}

void RootDial::connect(const DnsResult& result) {
  if (result.addresses.empty()) {
    const double random = std::uniform_real_distribution<>(0, 1)(generator_);
    return finish(
        {}, result.text,
        std::min(kLongestPause, pause_before_next_look(++looks_, result.negative_ttl, random)));
  }
  looks_ = 0;
  std::vector<asio::ip::tcp::endpoint> endpoints;
  for (const auto& address : result.addresses) endpoints.emplace_back(address, root_.port);
  attempt_ =
      connect_any(io_, std::move(endpoints), {.limit = kConnectLimit, .dead_after = dead_after_},
                  [this](Connected connected) { take(std::move(connected)); });
}

void RootDial::take(Connected connected) {
  const auto pause = std::exchange(retry_, std::min(2 * retry_, kLastRetry));
  if (!connected.socket) return finish({}, "no connection (" + connected.problem + ")", pause);
  asio::ip::tcp::socket socket(io_);
  const bool v6 = connected.address.find(':') != std::string::npos;
  asio::error_code error;
  socket.assign(v6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), connected.socket.release(), error);
  if (error) return finish({}, error.message(), pause);
  retry_ = kFirstRetry;
  finish(std::move(socket));
}

void RootDial::finish(std::optional<asio::ip::tcp::socket> socket, std::string problem,
                      std::chrono::milliseconds pause) {
  done_(
      {std::move(socket), fmt::format("{}:{}", root_.host, root_.port), std::move(problem), pause});
}

}  // namespace ds::launcher
