// Parts of a joiner: the agent that it runs, and one attempt to reach the root.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "launcher/dns/dns_lookup.h"
#include "launcher/dns/wait_state.h"
#include "launcher/join/join_records.h"
#include "launcher/join/joiner.h"
#include "launcher/transport/connector.h"
#include "launcher/transport/local_transport.h"

namespace ds::launcher {

/// Runs one agent at a time; its bytes carry the number of a session.
/// Threads: the io_context's; records never come from inside a call.
class JoinAgent {
 public:
  /// `send` takes the records for the root: AgentBytes, and AgentClosed when the agent and all its
  /// processes have ended.
  JoinAgent(asio::io_context& io, std::string place, std::function<void(const JoinRecord&)> send)
      : io_(io),
        place_(std::move(place)),
        send_(std::move(send)),
        local_(make_local_transport(io)) {}

  /// Starts an agent, after the previous one has cleaned up.
  void start(std::uint32_t session) {
    if (channel_) {
      next_session_ = session;
      next_input_.clear();
      return;
    }
    session_ = session;
    frames_ = Decoder();
    Host host;
    host.name = place_;
    ChannelEvents events;
    events.on_bytes = [this](std::span<const std::byte> bytes) {
      if (!abandoned_) send_(AgentBytes{session_, bytes});
    };
    // A channel must not be destroyed inside its own event.
    events.on_end = [this](const ChannelEnd& end) {
      asio::post(io_, [this, reason = end.reason] { on_end(reason); });
    };
    channel_ = local_->open(host, std::move(events));
  }

  /// Passes frames of the root to the agent; drops frames of another session.
  void pass(std::uint32_t session, std::span<const std::byte> bytes) {
    if (next_session_ == session) {
      next_input_.insert(next_input_.end(), bytes.begin(), bytes.end());
      return;
    }
    if (!channel_ || abandoned_ || session != session_) return;
    channel_->send(Bytes(bytes.begin(), bytes.end()));
    frames_.feed(bytes);
    while (const auto frame = frames_.next())
      next_epoch_ = std::max(next_epoch_, frame->envelope.epoch + 1);
  }

  /// Ends the agent's input after the root's last frame.
  void end_input(std::uint32_t session) {
    if (next_session_ == session) {  // never started; sessions of two roots may have equal numbers
      next_session_.reset();
      asio::post(io_, [this, session] { send_(AgentClosed{session, {}}); });
    } else if (channel_ && session == session_) {
      channel_->close();
    }
  }

  /// Stops the ranks after the loss of the root; no more records are sent.
  void abandon() {
    next_session_.reset();
    if (!channel_) return;
    abandoned_ = true;
    channel_->close();
  }

  [[nodiscard]] bool running() const { return channel_ != nullptr; }
  /// Returns whether an agent of this root runs; its heartbeats then replace pings.
  [[nodiscard]] bool speaks() const { return running() && !abandoned_; }
  /// Returns the number below which all epochs have run here.
  [[nodiscard]] std::uint32_t next_epoch() const { return next_epoch_; }

 private:
  void on_end(const std::string& problem) {
    channel_.reset();
    if (!std::exchange(abandoned_, false)) send_(AgentClosed{session_, problem});
    const auto next = std::exchange(next_session_, std::nullopt);
    if (!next) return;
    start(*next);
    pass(*next, std::exchange(next_input_, {}));
  }

  asio::io_context& io_;
  std::string place_;
  std::function<void(const JoinRecord&)> send_;
  std::unique_ptr<Transport> local_;
  std::unique_ptr<Channel> channel_;
  std::uint32_t session_ = 0;
  std::optional<std::uint32_t> next_session_;
  Bytes next_input_;  // input of the next session
  Decoder frames_;    // frames of this session to the agent
  std::uint32_t next_epoch_ = 0;
  bool abandoned_ = false;
};

struct DialResult {
  std::optional<asio::ip::tcp::socket> socket;
  std::string root;                         // "gpt-0.gpt:29400"
  std::string problem;                      // stage and cause, if there is no socket
  std::chrono::milliseconds retry_after{};  // earliest next attempt, if there is no socket
  std::vector<asio::ip::address> addresses{};  // of the root; empty: unknown
};

/// Looks up the root's name and dials its addresses. Each attempt takes the next one. Names are
/// looked up each time, because an address may belong to another pod by now. Threads: the
/// io_context's; `done` comes once per attempt, never from inside the call or after destruction.
class RootDial {
 public:
  RootDial(asio::io_context& io, std::vector<RootAddress> roots, std::chrono::milliseconds silence)
      : io_(io), roots_(std::move(roots)), dead_after_(silence), names_(io) {}
  /// Returns whether an attempt is under way.
  [[nodiscard]] bool under_way() const { return done_ != nullptr; }
  /// Gives up an attempt that is under way, whose `done` does not come, and begins another one.
  void start(std::function<void(DialResult)> done) {
    attempt_.reset();
    done_ = std::move(done);
    root_ = roots_[next_++ % roots_.size()];
    names_.look_up(root_.host, [this, attempt = ++attempts_](const DnsResult& result) {
      if (attempt == attempts_) connect(result);
    });
  }
  /// Gives up the attempt under way, whose `done` does not come, and dials this numeric address of
  /// the root instead.
  void start_at(const std::string& address, std::function<void(DialResult)> done) {
    done_ = std::move(done);
    root_ = roots_.front();
    root_.host = address;
    ++attempts_;
    connect({.addresses = {asio::ip::make_address(address)}});
  }

 private:
  static constexpr std::chrono::seconds kConnectLimit{5};
  /// A lookup costs 2 datagrams, and a pause of 5 s would delay a node by up to 5 s.
  static constexpr std::chrono::milliseconds kLongestPause{2000};
  static constexpr std::chrono::milliseconds kFirstRetry{100};
  static constexpr std::chrono::milliseconds kLastRetry{1000};

  void connect(const DnsResult& result) {
    addresses_ = result.addresses;
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
                                   std::move(problem), pause, addresses_});
  }

  asio::io_context& io_;
  std::vector<RootAddress> roots_;
  std::chrono::milliseconds dead_after_;
  DnsLookup names_;
  std::mt19937 generator_{std::random_device{}()};
  std::size_t next_ = 0;
  int attempts_ = 0;
  int looks_ = 0;  // consecutive lookups that found nothing
  std::chrono::milliseconds retry_ = kFirstRetry;
  RootAddress root_;
  std::vector<asio::ip::address> addresses_;  // of root_
  std::unique_ptr<ConnectAttempt> attempt_;
  std::function<void(DialResult)> done_;
};

}  // namespace ds::launcher
