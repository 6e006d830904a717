// One attempt to reach the root: looks up its name and dials its addresses.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "launcher/dns/dns_lookup.h"
#include "launcher/dns/look_schedule.h"
#include "launcher/join/joiner.h"
#include "launcher/transport/connector.h"

namespace ds::launcher {

struct DialResult {
  std::optional<asio::ip::tcp::socket> socket;
  std::string root;                         // "gpt-0.gpt:29400"
  std::string problem;                      // stage and cause, if there is no socket
  std::chrono::milliseconds retry_after{};  // earliest next attempt, if there is no socket
};

/// Each attempt takes the next root address. Names are looked up each time, because an address may
/// belong to another pod by now. Threads: the io_context's; `done` comes once per attempt, never
/// from inside the call or after destruction.
class RootDial {
 public:
  RootDial(asio::io_context& io, std::vector<RootAddress> roots, std::chrono::milliseconds silence)
      : io_(io), roots_(std::move(roots)), dead_after_(silence), names_(io) {}
  void start(std::function<void(DialResult)> done) {
    done_ = std::move(done);
    root_ = roots_[next_++ % roots_.size()];
    names_.look_up(root_.host, [this](const DnsResult& result) { connect(result); });
  }

 private:
  static constexpr std::chrono::seconds kConnectLimit{5};
  /// A lookup costs 2 datagrams, and a pause of 5 s would delay a node by up to 5 s.
  static constexpr std::chrono::milliseconds kLongestPause{2000};
  static constexpr std::chrono::milliseconds kFirstRetry{100};
  static constexpr std::chrono::milliseconds kLastRetry{1000};

  void connect(const DnsResult& result) {
    if (result.addresses.empty()) {
      const double random = std::uniform_real_distribution<>(0, 1)(generator_);
      return finish(
          {}, result.text,
          std::min(kLongestPause, pause_before_next_look(++looks_, result.negative_ttl, random)));
    }
    looks_ = 0;
    std::vector<asio::ip::tcp::endpoint> endpoints;
    for (const auto& address : result.addresses) endpoints.emplace_back(address, root_.port);
    ConnectOptions options;
    options.limit = kConnectLimit;
    options.dead_after = dead_after_;
    attempt_ = connect_any(io_, std::move(endpoints), options,
                           [this](Connected connected) { take(std::move(connected)); });
  }

  void take(Connected connected) {
    const auto pause = std::exchange(retry_, std::min(2 * retry_, kLastRetry));
    if (!connected.socket) return finish({}, "no connection (" + connected.problem + ")", pause);
    asio::ip::tcp::socket socket(io_);
    const bool v6 = connected.address.find(':') != std::string::npos;
    asio::error_code error;
    socket.assign(v6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), connected.socket.release(),
                  error);
    if (error) return finish({}, error.message(), pause);
    retry_ = kFirstRetry;
    finish(std::move(socket));
  }

  void finish(std::optional<asio::ip::tcp::socket> socket, std::string problem = {},
              std::chrono::milliseconds pause = {}) {
    std::exchange(done_, nullptr)({std::move(socket), fmt::format("{}:{}", root_.host, root_.port),
                                   std::move(problem), pause});
  }

  asio::io_context& io_;
  std::vector<RootAddress> roots_;
  std::chrono::milliseconds dead_after_;
  DnsLookup names_;
  std::mt19937 generator_{std::random_device{}()};
  std::size_t next_ = 0;
  int looks_ = 0;  // consecutive lookups that found nothing
  std::chrono::milliseconds retry_ = kFirstRetry;
  RootAddress root_;
  std::unique_ptr<ConnectAttempt> attempt_;
  std::function<void(DialResult)> done_;
};

}  // namespace ds::launcher
