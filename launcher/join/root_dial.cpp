#include "launcher/join/root_dial.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "launcher/dns/dns_lookup.h"
#include "launcher/dns/wait_state.h"
#include "launcher/transport/connector.h"

namespace ds::launcher {

namespace {

using namespace std::chrono_literals;

constexpr auto kConnectLimit = 5s;
/// A lookup costs 2 datagrams, and a pause of 5 s would delay a node by up to 5 s.
constexpr std::chrono::milliseconds kLongestPause = 2s;
constexpr std::chrono::milliseconds kFirstRetry = 100ms;
constexpr std::chrono::milliseconds kLastRetry = 1s;

}  // namespace

struct RootDial::State : std::enable_shared_from_this<RootDial::State> {
  State(asio::io_context& context, std::vector<RootAddress> addresses,
        std::chrono::milliseconds dead)
      : io(context), roots(std::move(addresses)), dead_after(dead), names(context) {}

  void start(std::function<void(DialResult)> then) {
    done = std::move(then);
    root = roots[next++ % roots.size()];
    names.look_up(root.host, [weak = weak_from_this()](DnsResult result) {
      if (const auto self = weak.lock()) self->connect(std::move(result));
    });
  }

  void connect(DnsResult result) {
    if (result.addresses.empty()) {
      const double random = std::uniform_real_distribution<>(0, 1)(generator);
      return fail(result.text, std::min(kLongestPause, pause_before_next_look(
                                                           ++looks, result.negative_ttl, random)));
    }
    looks = 0;
    std::vector<asio::ip::tcp::endpoint> endpoints;
    for (const auto& address : result.addresses) endpoints.emplace_back(address, root.port);
    ConnectOptions options;
    options.limit = kConnectLimit;
    options.dead_after = dead_after;
    attempt = connect_any(io, std::move(endpoints), options,
                          [weak = weak_from_this()](Connected connected) {
                            if (const auto self = weak.lock()) self->take(std::move(connected));
                          });
  }

  void take(Connected connected) {
    const auto pause = std::exchange(retry, std::min(2 * retry, kLastRetry));
    if (!connected.socket) return fail("no connection (" + connected.problem + ")", pause);
    asio::ip::tcp::socket socket(io);
    const bool v6 = connected.address.find(':') != std::string::npos;
    asio::error_code error;
    socket.assign(v6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), connected.socket.release(),
                  error);
    if (error) return fail(error.message(), pause);
    retry = kFirstRetry;
    finish({std::move(socket), name(), {}, {}});
  }

  [[nodiscard]] std::string name() const { return fmt::format("{}:{}", root.host, root.port); }

  void fail(std::string problem, std::chrono::milliseconds pause) {
    finish({std::nullopt, name(), std::move(problem), pause});
  }

  void finish(DialResult result) {
    if (done) std::exchange(done, nullptr)(std::move(result));
  }

  asio::io_context& io;
  std::vector<RootAddress> roots;
  std::chrono::milliseconds dead_after;
  DnsLookup names;
  std::mt19937 generator{std::random_device{}()};
  std::size_t next = 0;
  int looks = 0;  // consecutive lookups that found nothing
  std::chrono::milliseconds retry = kFirstRetry;
  RootAddress root;
  std::unique_ptr<ConnectAttempt> attempt;
  std::function<void(DialResult)> done;
};

RootDial::RootDial(asio::io_context& io, std::vector<RootAddress> roots,
                   std::chrono::milliseconds silence)
    : state_(std::make_shared<State>(io, std::move(roots), silence)) {}
RootDial::~RootDial() = default;
void RootDial::start(std::function<void(DialResult)> done) { state_->start(std::move(done)); }

}  // namespace ds::launcher
