// Look-up, then connections to all addresses of the name.
#include "launcher/join/root_dial.h"

#include <fmt/format.h>

#include <utility>

namespace ds::launcher {

namespace {

constexpr std::chrono::seconds kConnectLimit{5};

}  // namespace

struct RootDial::State : std::enable_shared_from_this<RootDial::State> {
  State(asio::io_context& context, std::vector<RootAddress> addresses,
        std::chrono::milliseconds dead)
      : io(context), roots(std::move(addresses)), dead_after(dead), resolver(context, 1) {}

  void start(std::function<void(DialResult)> then) {
    done = std::move(then);
    const RootAddress& root = roots[next++ % roots.size()];
    name = fmt::format("{} port {}", root.host, root.port);
    resolver.resolve(root.host, root.port, [weak = weak_from_this()](Resolved resolved) {
      if (const auto self = weak.lock()) self->connect(std::move(resolved));
    });
  }

  void connect(Resolved resolved) {
    if (resolved.addresses.empty())
      return finish({std::nullopt, name, fmt::format("{}: {}", name, resolved.problem)});
    ConnectOptions options;
    options.limit = kConnectLimit;
    options.dead_after = dead_after;
    attempt = connect_any(io, std::move(resolved.addresses),
                          options,
                          [weak = weak_from_this()](Connected connected) {
                            if (const auto self = weak.lock()) self->take(std::move(connected));
                          });
  }

  void take(Connected connected) {
    if (!connected.socket)
      return finish({std::nullopt, name, fmt::format("{}: {}", name, connected.problem)});
    asio::ip::tcp::socket socket(io);
    const bool v6 = connected.address.find(':') != std::string::npos;
    asio::error_code error;
    socket.assign(v6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), connected.socket.release(),
                  error);
    if (error) return finish({std::nullopt, name, fmt::format("{}: {}", name, error.message())});
    finish({std::move(socket), name, {}});
  }

  void finish(DialResult result) {
    if (done) std::exchange(done, nullptr)(std::move(result));
  }

  asio::io_context& io;
  std::vector<RootAddress> roots;
  std::chrono::milliseconds dead_after;
  Resolver resolver;
  std::size_t next = 0;
  std::string name;
  std::unique_ptr<ConnectAttempt> attempt;
  std::function<void(DialResult)> done;
};

RootDial::RootDial(asio::io_context& io, std::vector<RootAddress> roots,
                   std::chrono::milliseconds silence)
    : state_(std::make_shared<State>(io, std::move(roots), silence)) {}
RootDial::~RootDial() = default;
void RootDial::start(std::function<void(DialResult)> done) { state_->start(std::move(done)); }

}  // namespace ds::launcher
