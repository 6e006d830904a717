#include "launcher/dns/wait_hosts.h"

#include <fmt/format.h>

#include <asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "engine/base/error.h"
#include "launcher/dns/wait_state.h"
#include "launcher/transport/connector.h"

namespace ds::launcher {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kConnectLimit = 4s;

std::vector<std::string> names_of(std::span<const Host> hosts) {
  std::vector<std::string> names;
  for (const Host& host : hosts) names.push_back(host.name);
  return names;
}

class Wait {
 public:
  Wait(asio::io_context& io, std::span<Host> hosts, const WaitForHosts& options)
      : io_(io),
        hosts_(hosts),
        options_(options),
        state_(
            names_of(hosts), options,
            [engine = std::minstd_rand(std::random_device{}())]() mutable {
              return std::uniform_real_distribution<double>(0, 1)(engine);
            },
            Clock::now()),
        lookup_(io, options.dns),
        timer_(io) {}

  /// Returns true when all hosts are ready, false at the limit.
  bool run() {
    step();
    io_.restart();
    while (!state_.all_ready() && !state_.over(Clock::now())) io_.run_one();
    return state_.all_ready();
  }
  [[nodiscard]] const WaitState& state() const { return state_; }

 private:
  void step() {
    const auto now = Clock::now();
    if (const auto line = state_.take_news(now); line && options_.say) options_.say(*line);
    for (const std::size_t host : state_.take_due(now)) look_at(host);
    timer_.expires_at(state_.wake_at());
    timer_.async_wait([this](const asio::error_code& error) {
      if (!error) step();
    });
  }

  void look_at(std::size_t index) {
    const Host& host = hosts_[index];
    lookup_.look_up(host.address.empty() ? host.name : host.address,
                    [this, index](const DnsResult& result) { looked_up(index, result); });
  }

  void looked_up(std::size_t index, const DnsResult& result) {
    if (result.addresses.empty()) {
      const bool no_record = result.problem == DnsProblem::no_record;
      const WaitStage stage = no_record ? WaitStage::no_record : WaitStage::dns_failed;
      return missing(index, {stage, result.text, {}, result.negative_ttl});
    }
    std::vector<tcp::endpoint> ends;
    for (const auto& address : result.addresses)
      ends.emplace_back(address, static_cast<std::uint16_t>(port_of(index)));
    ConnectOptions options;
    options.limit = kConnectLimit;
    attempts_[index] = connect_any(
        io_, std::move(ends), options,
        [this, index](Connected connected) { connected_to(index, std::move(connected)); });
  }

  void connected_to(std::size_t index, Connected connected) {
    attempts_.erase(index);
    if (connected.socket) {
      Host& host = hosts_[index];
      std::string name = host.address.empty() ? host.name : host.address;
      if (name != connected.address) host.found_by = std::move(name);
      host.address = connected.address;
      state_.on_ready(index);
      return step();
    }
    // The address in "10.0.0.3: Connection refused" would keep equal reasons from being folded.
    const std::string& problem = connected.problem;
    const std::size_t colon = problem.rfind(": ");
    const std::string words = colon == std::string::npos ? problem : problem.substr(colon + 2);
    const auto text = [&](const std::string& why) {
      return fmt::format("has a DNS record, but no TCP connection to port {} ({})", port_of(index),
                         why);
    };
    missing(index, {WaitStage::no_connection, text(words), text(problem), {}});
  }

  void missing(std::size_t index, HostLook look) {
    state_.on_missing(index, std::move(look), Clock::now());
    step();
  }

  [[nodiscard]] int port_of(std::size_t index) const {
    return hosts_[index].port != 0 ? hosts_[index].port : options_.port;
  }

  asio::io_context& io_;
  std::span<Host> hosts_;
  const WaitForHosts& options_;
  WaitState state_;
  DnsLookup lookup_;
  asio::steady_timer timer_;
  std::map<std::size_t, std::unique_ptr<ConnectAttempt>> attempts_;
};

}  // namespace

void wait_for_hosts(asio::io_context& io, std::span<Host> hosts, const WaitForHosts& options) {
  std::optional<Error> error;
  {
    Wait wait(io, hosts, options);
    if (!wait.run())
      error.emplace(ErrorKind::unreachable, wait.state().table(), wait.state().hint());
  }
  io.restart();
  io.poll();  // runs the handlers of cancelled operations
  io.restart();
  if (error) throw *error;
}

}  // namespace ds::launcher
