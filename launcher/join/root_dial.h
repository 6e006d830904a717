// One attempt to reach the root: looks up its name and dials its addresses.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "launcher/dns/dns_lookup.h"
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
  void start(std::function<void(DialResult)> done);

 private:
  void connect(const DnsResult& result);
  void take(Connected connected);
  void finish(std::optional<asio::ip::tcp::socket> socket, std::string problem = {},
              std::chrono::milliseconds pause = {});

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

  static constexpr std::chrono::milliseconds kFirstRetry{100};
};

}  // namespace ds::launcher
