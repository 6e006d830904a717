// Connections to jump hosts, shared by all targets behind them. Another one is opened when the
// server allows no further channel on the first.
#include <fmt/format.h>

#include <algorithm>
#include <asio/post.hpp>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "launcher/transport/ssh/ssh_connection.h"

namespace ds::launcher {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostConnections = 64;
constexpr auto kIdle = 500ms;  // an unused connection is closed then

}  // namespace

/// A request for a socket to host:port. An empty `done` means that it was canceled.
struct JumpRequest {
  std::string host;
  int port = 22;
  std::chrono::milliseconds limit{};  // of the jump host's connect
  std::function<void(Reached)> done;
  asio::steady_timer timer;

  void answer(Reached reached) {
    timer.cancel();
    if (const auto tell = std::exchange(done, nullptr)) tell(std::move(reached));
  }
};

class JumpHost {
 public:
  /// The last of `jumps` is this host, the others lead to it.
  JumpHost(SshExchange& exchange, std::span<const SshSettings> jumps)
      : exchange_(exchange),
        jumps_(jumps.begin(), jumps.end()),
        room_(exchange.options.jump_room),
        idle_timer_(exchange.io) {}

  void ask(std::shared_ptr<JumpRequest> request) {
    waiting_.push_back(std::move(request));
    pump();
  }

 private:
  struct Connection {
    enum class State { opening, up, over };
    std::unique_ptr<SshAttempts> attempts;
    std::shared_ptr<SshJump> jump;
    State state = State::opening;
    std::vector<std::shared_ptr<JumpRequest>> asked;  // requests without an answer yet
  };

  [[nodiscard]] const SshSettings& settings() const { return jumps_.back(); }

  void pump() {
    std::erase_if(waiting_, [](const auto& request) { return !request->done; });
    while (!waiting_.empty()) {
      const auto free = std::ranges::find_if(connections_, [this](const Connection& one) {
        return one.state == Connection::State::up && one.jump->forwards() < room_;
      });
      if (free == connections_.end()) break;
      const auto request = std::move(waiting_.front());
      waiting_.pop_front();
      forward(*free, request);
    }
    const bool opening = std::ranges::any_of(connections_, [](const Connection& one) {
      return one.state == Connection::State::opening;
    });
    if (!waiting_.empty() && !opening && connections_.size() < kMostConnections) open_connection();
    close_when_idle();
  }

  void open_connection() {
    Connection& connection = connections_.emplace_back();
    const std::span<const SshSettings> before(jumps_.data(), jumps_.size() - 1);
    connection.attempts = std::make_unique<SshAttempts>(
        exchange_, settings(), before,
        [this, &connection](Reached reached) { log_in(connection, std::move(reached)); },
        [this, &connection](const ChannelEnd& end) { failed(connection, end); });
  }

  void log_in(Connection& connection, Reached reached) {
    SshEvents events = exchange_.login_events(settings(), reached);
    events.on_up = [this, &connection] {
      connection.state = Connection::State::up;
      pump();
    };
    events.on_end = [this, &connection](const SshLinkEnd& end) {
      // A connection that was up is not retried; its targets dial again.
      if (connection.state == Connection::State::up) return failed(connection, end.end);
      connection.attempts->ended(end);
    };
    connection.jump = make_ssh_jump(exchange_.io, exchange_.keyring,
                                    exchange_.login(settings(), reached), std::move(events));
  }

  void failed(Connection& connection, const ChannelEnd& end) {
    std::vector<std::shared_ptr<JumpRequest>> requests = std::move(connection.asked);
    const bool was_up =
        std::exchange(connection.state, Connection::State::over) == Connection::State::up;
    // The object must live until its event returns.
    asio::post(exchange_.io, [this, &connection, life = std::weak_ptr(life_)] {
      if (!life.expired())
        connections_.remove_if([&connection](const auto& other) { return &other == &connection; });
    });
    if (!was_up) {
      requests.insert(requests.end(), waiting_.begin(), waiting_.end());
      waiting_.clear();
    }
    const std::string problem = fmt::format("jump host {}: {}", settings().alias, end.reason);
    for (const auto& request : requests) request->answer(Reached::failed(end.stage, problem));
  }

  void forward(Connection& connection, const std::shared_ptr<JumpRequest>& request) {
    connection.asked.push_back(request);
    request->timer.expires_after(request->limit);
    request->timer.async_wait([request, name = settings().alias](const asio::error_code& error) {
      if (error) return;
      request->answer(Reached::failed(
          stage::kConnect,
          fmt::format("jump host {} did not reach {} port {} within {} s", name, request->host,
                      request->port, std::chrono::duration<double>(request->limit).count())));
    });
    connection.jump->forward(request->host, request->port,
                             [this, &connection, request](Forwarded result) {
                               answered(connection, request, std::move(result));
                             });
  }

  void answered(Connection& connection, const std::shared_ptr<JumpRequest>& request,
                Forwarded result) {
    request->timer.cancel();
    std::erase(connection.asked, request);
    if (result.no_room && connection.jump->forwards() > 0 && request->done) {
      room_ = std::min(room_, connection.jump->forwards());
      waiting_.push_front(request);
      return pump();
    }
    if (result.socket)
      request->answer({.socket = std::move(result.socket)});
    else
      request->answer(Reached::failed(
          stage::kConnect,
          fmt::format("jump host {} cannot connect to {} port {}: {}", settings().alias,
                      request->host, request->port, result.problem)));
    close_when_idle();
  }

  void close_when_idle() {
    if (connections_.empty()) return;
    idle_timer_.expires_after(kIdle);
    idle_timer_.async_wait([this, life = std::weak_ptr(life_)](const asio::error_code& error) {
      if (error || life.expired()) return;
      if (waiting_.empty())
        connections_.remove_if([](const Connection& one) {
          return one.state == Connection::State::up && one.jump->forwards() == 0;
        });
      close_when_idle();
    });
  }

  SshExchange& exchange_;
  std::vector<SshSettings> jumps_;
  std::deque<std::shared_ptr<JumpRequest>> waiting_;
  std::list<Connection> connections_;
  std::size_t room_;  // channels that fit through one connection, as far as is known
  asio::steady_timer idle_timer_;
  std::shared_ptr<int> life_ = std::make_shared<int>();
};

namespace {

class JumpConnection final : public SshConnection {
 public:
  JumpConnection(asio::io_context& io, std::shared_ptr<JumpHost> host,
                 std::shared_ptr<JumpRequest> request)
      : request_(std::move(request)) {
    // Posted, because the jump host may answer at once.
    asio::post(io, [host = std::move(host), weak = std::weak_ptr(request_)] {
      if (auto waiting = weak.lock()) host->ask(std::move(waiting));
    });
  }
  JumpConnection(const JumpConnection&) = delete;
  JumpConnection& operator=(const JumpConnection&) = delete;
  ~JumpConnection() override { request_->done = nullptr; }

 private:
  std::shared_ptr<JumpRequest> request_;
};

}  // namespace

std::unique_ptr<SshConnection> open_jump_connection(SshExchange& exchange,
                                                    const SshSettings& settings,
                                                    std::span<const SshSettings> jumps,
                                                    std::function<void(Reached)> done) {
  auto& host = exchange.jump_hosts[route_key(jumps)];
  if (!host) host = std::make_shared<JumpHost>(exchange, jumps);
  auto request = std::shared_ptr<JumpRequest>(
      new JumpRequest{settings.address, settings.port, exchange.connect_limit(settings),
                      std::move(done), asio::steady_timer(exchange.io)});
  return std::make_unique<JumpConnection>(exchange.io, host, std::move(request));
}

}  // namespace ds::launcher
