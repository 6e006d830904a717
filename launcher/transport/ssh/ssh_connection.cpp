// Connects to a host directly, by a ProxyCommand, or through a jump host.
#include "launcher/transport/ssh/ssh_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include "engine/base/deadline.h"
#include "launcher/transport/child_process.h"
#include "launcher/transport/connector.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher {

namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenAttempts = 1s;  // ConnectionAttempts, as ssh

/// Looks the name up and connects. If an address that was found before the job does not answer any
/// more (a pod was replaced), the name is looked up again. A host that says where it is now is
/// dialed there at once.
class DirectConnection final : public SshConnection {
 public:
  DirectConnection(SshExchange& exchange, const SshSettings& settings,
                   std::function<void(Reached)> done)
      : exchange_(exchange),
        settings_(settings),
        name_(settings.address),
        done_(std::move(done)),
        timer_(exchange.io) {
    NewAddresses* const moved = exchange.options.moved.get();
    if (moved != nullptr && !settings.found_by.empty()) {
      if (const std::string now = moved->of(settings.found_by); !now.empty()) name_ = now;
      moved->wait(settings.found_by, alive_, [this, moved] {
        name_ = moved->of(settings_.found_by);
        attempt_.reset();
        attempt();
      });
    }
    attempt();
  }

 private:
  void attempt() {
    life_ = std::make_shared<int>();  // a late answer to the attempt before is ignored
    const auto limit = exchange_.connect_limit(settings_);
    deadline_ = Deadline::after(limit);
    timer_.expires_after(limit);  // for a lookup that hangs; connecting has its own limit
    timer_.async_wait([this, life = std::weak_ptr(life_), limit](const asio::error_code& error) {
      if (error || life.expired()) return;
      life_ = std::make_shared<int>();  // a late answer is ignored
      fail(stage::kLookup, fmt::format("the lookup of {} did not finish within {} s", name_,
                                       std::chrono::duration<double>(limit).count()));
    });
    exchange_.resolver.resolve(name_, settings_.port,
                               [this, life = std::weak_ptr(life_)](Resolved resolved) {
                                 if (!life.expired()) this->resolved(std::move(resolved));
                               });
  }

  void resolved(Resolved result) {
    timer_.cancel();
    if (result.addresses.empty())
      return fail(stage::kLookup,
                  fmt::format("the name {} cannot be looked up: {}", name_, result.problem));
    if (settings_.address_family != AddressFamily::any)
      std::erase_if(result.addresses, [this](const auto& endpoint) {
        return endpoint.address().is_v6() != (settings_.address_family == AddressFamily::inet6);
      });
    if (result.addresses.empty())
      return fail(
          stage::kLookup,
          fmt::format("{} has no address of the family that AddressFamily asks for", name_));
    const auto limit = exchange_.connect_limit(settings_);
    ConnectOptions options{.limit = limit,
                           .spent = limit - std::max(deadline_.remaining(), 1ms),
                           .dead_after = exchange_.options.dead_after,
                           .keep_alive = settings_.tcp_keep_alive,
                           .bind_address = settings_.bind_address,
                           .bind_interface = settings_.bind_interface};
    attempt_ = connect_any(exchange_.io, std::move(result.addresses), std::move(options),
                           [this](Connected connected) { this->connected(std::move(connected)); });
  }

  void connected(Connected result) {
    attempt_.reset();
    if (!result.socket && name_ != settings_.found_by && !settings_.found_by.empty()) {
      name_ = settings_.found_by;
      return attempt();
    }
    if (!result.socket && !result.transient && ++attempts_ < settings_.connection_attempts) {
      timer_.expires_after(kBetweenAttempts);
      timer_.async_wait([this, life = std::weak_ptr(life_)](const asio::error_code& error) {
        if (!error && !life.expired()) attempt();
      });
      return;
    }
    if (!result.socket)
      return fail(stage::kConnect,
                  fmt::format("cannot connect to port {}: {}", settings_.port, result.problem),
                  result.transient);
    finish({.socket = std::move(result.socket), .address = std::move(result.address)});
  }

  void fail(const char* stage, std::string problem, bool transient = false) {
    finish(Reached::failed(stage, std::move(problem), transient));
  }

  void finish(Reached reached) {
    alive_.reset();
    const auto done = std::move(done_);
    done(std::move(reached));  // may destroy this
  }

  SshExchange& exchange_;
  const SshSettings& settings_;
  std::string name_;
  std::function<void(Reached)> done_;
  asio::steady_timer timer_;
  Deadline deadline_{Clock::now()};
  std::unique_ptr<ConnectAttempt> attempt_;
  int attempts_ = 0;
  std::shared_ptr<int> life_;                             // of this attempt
  std::shared_ptr<int> alive_ = std::make_shared<int>();  // until it is done
};

/// Starts a ProxyCommand, by the user's shell as ssh does.
class ProxyConnection final : public SshConnection {
 public:
  ProxyConnection(SshExchange& exchange, const SshSettings& settings,
                  std::function<void(Reached)> done) {
    auto started = start_child(exchange.io, {user_shell(), "-c", "exec " + settings.proxy_command},
                               {.on_stderr = [this](std::string_view text) { said(text); },
                                .on_exit = [this](const ExitStatus& status) { ended_ = status; }});
    process_ = std::move(started.process);
    Reached reached = started.socket
                          ? Reached{.socket = std::move(started.socket)}
                          : Reached::failed(stage::kConnect, "ProxyCommand: " + started.problem);
    asio::post(exchange.io, [life = std::weak_ptr(life_), done = std::move(done),
                             kept = std::make_shared<Reached>(std::move(reached))] {
      if (!life.expired()) done(std::move(*kept));
    });
  }

  [[nodiscard]] std::string trouble() const override {
    settle();
    if (said_.empty() && (!ended_ || ended_->success())) return {};
    std::string text = "ProxyCommand";
    if (ended_) text += " " + ended_->describe();
    return said_.empty() ? text : text + ": " + said_;
  }
  [[nodiscard]] bool hopeless() const override {
    settle();
    return ended_ && !ended_->success();
  }

 private:
  /// The end of the program's socket can be seen before its exit.
  void settle() const {
    if (process_ && !ended_) process_->settle();
  }
  /// Keeps the last line of standard error.
  void said(std::string_view text) {
    constexpr std::size_t kMost = 300;
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
    const std::size_t newline = text.rfind('\n');
    if (newline != std::string_view::npos) text.remove_prefix(newline + 1);
    if (!text.empty()) said_ = text.substr(0, kMost);
  }

  std::shared_ptr<ChildProcess> process_;
  std::string said_;
  std::optional<ExitStatus> ended_;
  std::shared_ptr<int> life_ = std::make_shared<int>();
};

}  // namespace

std::unique_ptr<SshConnection> open_connection(SshExchange& exchange, const SshSettings& settings,
                                               std::span<const SshSettings> jumps,
                                               std::function<void(Reached)> done) {
  if (!jumps.empty()) return open_jump_connection(exchange, settings, jumps, std::move(done));
  if (!settings.proxy_command.empty())
    return std::make_unique<ProxyConnection>(exchange, settings, std::move(done));
  return std::make_unique<DirectConnection>(exchange, settings, std::move(done));
}

}  // namespace ds::launcher
