// The steps from a host to a running remote command, for many hosts at once, with a window and
// retries.
#include <fmt/format.h>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <map>
#include <random>

#include "engine/base/deadline.h"
#include "engine/base/error.h"
#include "launcher/transport/connector.h"
#include "launcher/transport/host_key_policy.h"
#include "launcher/transport/resolver.h"
#include "launcher/transport/ssh_files.h"
#include "launcher/transport/ssh_identities.h"
#include "launcher/transport/ssh_transport.h"

namespace ds::launcher {

namespace {

using namespace std::chrono_literals;

class Dial;

/// What all dials of a transport share.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(asio::io_context& context, SshOptions given)
      : io(context),
        options(std::move(given)),
        local(local_user()),
        config(read_ssh_config(options.config_file, local)),
        resolver(context, options.resolver_threads),
        keyring(make_ssh_keyring()) {}

  /// The index of the host's files; hosts with the same files share it.
  KnownHosts& known_hosts(const SshSettings& settings) {
    std::string files;
    for (const std::string& path : settings.known_hosts_files) files += path + '\n';
    for (const std::string& path : settings.global_known_hosts_files) files += path + '\n';
    const auto [it, fresh] = known_hosts_.try_emplace(files);
    if (!fresh) return it->second;
    for (const auto* list : {&settings.known_hosts_files, &settings.global_known_hosts_files})
      for (const std::string& path : *list)
        if (const auto text = read_text_file(path)) it->second.add(*text, path);
    return it->second;
  }

  AgentRelay* agent(const std::string& socket_path) {
    if (socket_path.empty()) return nullptr;
    auto& relay = agents_[socket_path];
    if (!relay) relay = std::make_unique<AgentRelay>(socket_path, options.agent_limit);
    return relay.get();
  }

  void enqueue(const std::shared_ptr<Dial>& dial) {
    waiting_.push_back(dial);
    post_pump();
  }
  /// A dial has left the window.
  void done_one() {
    --under_way_;
    post_pump();
  }
  std::chrono::milliseconds jitter(int attempt) {
    const int base = 100 << std::min(attempt, 5);
    return std::chrono::milliseconds(
        std::uniform_int_distribution<int>(base / 2, base * 3 / 2)(random_));
  }

  asio::io_context& io;
  SshOptions options;
  LocalUser local;
  SshConfig config;
  Resolver resolver;
  std::unique_ptr<SshKeyring> keyring;
  std::string last_good_identity;

 private:
  void post_pump() {
    asio::post(io, [self = shared_from_this()] { self->pump(); });
  }
  void pump();

  std::map<std::string, KnownHosts> known_hosts_;
  std::map<std::string, std::unique_ptr<AgentRelay>> agents_;
  std::deque<std::weak_ptr<Dial>> waiting_;
  int under_way_ = 0;
  std::minstd_rand random_{std::random_device{}()};
};

/// One host's way through the stages. Destroying its channel cancels it.
class Dial : public std::enable_shared_from_this<Dial> {
 public:
  Dial(std::shared_ptr<Exchange> exchange, Host host, ChannelEvents events)
      : exchange_(std::move(exchange)),
        host_(std::move(host)),
        events_(std::move(events)),
        timer_(exchange_->io) {}

  void start() {
    in_window_ = true;
    try {
      settings_ = exchange_->config.resolve(host_, exchange_->local);
      if (!exchange_->options.known_hosts_files.empty()) {
        settings_.known_hosts_files = exchange_->options.known_hosts_files;
        settings_.global_known_hosts_files.clear();
      }
      if (!settings_.jumps.empty() || !settings_.proxy_command.empty())
        throw Error(
            ErrorKind::config,
            "host " + host_.name + " is to be reached by a proxy, which is not supported yet");
    } catch (const Error& error) {
      end({ChannelEnd::Kind::unreachable, error.hint().empty()
                                              ? error.what()
                                              : fmt::format("{}; {}", error.what(), error.hint())});
      return;
    }
    attempt();
  }

  void cancel() {
    cancelled_ = true;
    attempt_.reset();
    link_.reset();
    timer_.cancel();
    leave_window();
  }

  void send(Bytes bytes) {
    if (opened_) return link_->send(std::move(bytes));
    unsent_ += bytes.size();
    queue_.push_back(std::move(bytes));
  }
  [[nodiscard]] std::size_t unsent() const { return opened_ ? link_->unsent() : unsent_; }
  void pause(bool pause) {
    paused_ = pause;
    if (opened_) link_->pause_reading(pause);
  }
  [[nodiscard]] const std::string& peer_address() const { return peer_address_; }
  void close() {
    closing_ = true;
    if (opened_) link_->close();
  }

 private:
  void attempt() {
    const auto limit = connect_limit();
    connect_deadline_ = Clock::now() + limit;
    arm_deadline(limit);
    exchange_->resolver.resolve(
        dialled_name(), settings_.port,
        [weak = weak_from_this(), generation = ++generation_](Resolved resolved) {
          const auto self = weak.lock();
          if (self && self->generation_ == generation) self->resolved(std::move(resolved));
        });
  }

  /// addr= of the hostfile wins; the host key is still looked up by the name.
  [[nodiscard]] const std::string& dialled_name() const {
    return host_.address.empty() ? settings_.host_name : host_.address;
  }

  [[nodiscard]] std::chrono::milliseconds connect_limit() const {
    return settings_.connect_timeout ? std::chrono::milliseconds(*settings_.connect_timeout)
                                     : exchange_->options.connect_limit;
  }

  /// Ends a look-up that hangs; the later stages keep their own time.
  void arm_deadline(std::chrono::milliseconds limit) {
    timer_.expires_after(limit);
    timer_.async_wait([weak = weak_from_this(), limit](const asio::error_code& error) {
      const auto self = weak.lock();
      if (error || !self || self->cancelled_) return;
      ++self->generation_;
      self->unreachable(fmt::format("looking up {} did not finish within {} s",
                                    self->settings_.host_name,
                                    std::chrono::duration<double>(limit).count()));
    });
  }

  void resolved(Resolved result) {
    if (cancelled_) return;
    timer_.cancel();
    if (result.addresses.empty()) {
      unreachable(
          fmt::format("the name {} cannot be looked up: {}", settings_.host_name, result.problem));
      return;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(connect_deadline_ - Clock::now());
    ConnectOptions connect;
    connect.limit = std::max(left, 1ms);
    attempt_ = connect_any(exchange_->io, std::move(result.addresses), std::move(connect),
                           [this](Connected connected) { this->connected(std::move(connected)); });
  }

  void connected(Connected result) {
    attempt_.reset();
    if (!result.socket) {
      failed({{ChannelEnd::Kind::unreachable,
               fmt::format("cannot connect to port {}: {}", settings_.port, result.problem)},
              result.transient});
      return;
    }
    peer_address_ = std::move(result.address);
    start_link(std::move(result.socket));
  }

  void start_link(UniqueFd socket) {
    SshIdentityPlan plan =
        plan_identities(settings_, *exchange_->keyring, exchange_->agent(settings_.identity_agent),
                        exchange_->last_good_identity);
    KnownHosts& known = exchange_->known_hosts(settings_);
    SshLinkSetup setup{std::move(socket),
                       settings_.host_name,
                       settings_.user,
                       settings_.port,
                       exchange_->options.remote_command,
                       exchange_->options.fallback_command,
                       exchange_->options.answer,
                       host_key_algorithms(known.types(host_key_name(settings_), settings_.port)),
                       std::move(plan.identities),
                       std::move(plan.note),
                       exchange_->options.limits};
    // The link lives in this dial and is silent once destroyed, so `this` outlives its events.
    SshLinkEvents events;
    events.check_host_key = [this](const HostKey& key) { return check_host_key(key); };
    events.on_open = [this] { opened(); };
    events.on_identity = [this](const std::string& label) {
      exchange_->last_good_identity = label;
    };
    events.on_bytes = [this](std::span<const std::byte> bytes) {
      const auto keep = shared_from_this();  // the owner may destroy the channel
      events_.on_bytes(bytes);
    };
    events.on_noise = [this](std::string_view text) {
      const auto keep = shared_from_this();
      noise(text);
    };
    events.on_end = [this](SshLinkEnd end) { failed(std::move(end)); };
    link_ = make_ssh_link(exchange_->io, *exchange_->keyring, std::move(setup), std::move(events));
  }

  void opened() {
    leave_window();
    opened_ = true;
    for (Bytes& bytes : queue_) link_->send(std::move(bytes));
    queue_.clear();
    if (paused_) link_->pause_reading(true);
    if (closing_) link_->close();
  }

  std::optional<std::string> check_host_key(const HostKey& key) {
    KnownHosts& known = exchange_->known_hosts(settings_);
    const HostKeyDecision decision =
        judge_host_key(settings_, key, known.check(host_key_name(settings_), settings_.port, key));
    if (!decision.accept) return decision.text;
    if (decision.remember) {
      const std::string problem = remember_host_key(settings_, key);
      if (!problem.empty()) return "its new host key cannot be written down: " + problem;
      known.add(known_hosts_line(host_key_name(settings_), settings_.port, key),
                settings_.known_hosts_files.front());
    }
    if (!decision.text.empty()) noise("dslaunch: warning: " + decision.text + "\n");
    return std::nullopt;
  }

  void noise(std::string_view text) const {
    if (events_.on_noise) events_.on_noise(text);
  }

  void failed(SshLinkEnd link_end) {
    const bool again = link_end.transient && ++attempts_ < exchange_->options.max_attempts;
    if (!again) {
      if (link_end.end.kind == ChannelEnd::Kind::closed) return end({ChannelEnd::Kind::closed, {}});
      std::string tries = attempts_ > 1 ? fmt::format(" ({} attempts)", attempts_) : "";
      return end(
          {link_end.end.kind, fmt::format("{}: {}{}", shown_name(), link_end.end.reason, tries)});
    }
    // A full MaxStartups drops connections at random: the others must be let through first.
    timer_.expires_after(exchange_->jitter(attempts_));
    timer_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
      const auto self = weak.lock();
      if (error || !self || self->cancelled_) return;
      self->link_.reset();
      self->attempt();
    });
  }

  void unreachable(const std::string& reason) {
    end({ChannelEnd::Kind::unreachable, fmt::format("{}: {}", shown_name(), reason)});
  }

  [[nodiscard]] std::string shown_name() const {
    return settings_.host_name.empty() || settings_.host_name == host_.name
               ? host_.name
               : fmt::format("{} ({})", host_.name, settings_.host_name);
  }

  void end(ChannelEnd end) {
    leave_window();
    if (std::exchange(ended_, true)) return;
    if (end.kind != ChannelEnd::Kind::closed)
      for (const std::string& note : settings_.notes) noise("dslaunch: note: " + note + "\n");
    const auto keep = shared_from_this();
    if (!cancelled_) events_.on_end(std::move(end));
  }

  void leave_window() {
    if (std::exchange(in_window_, false)) exchange_->done_one();
  }

  std::shared_ptr<Exchange> exchange_;
  Host host_;
  ChannelEvents events_;
  SshSettings settings_;
  asio::steady_timer timer_;
  Clock::time_point connect_deadline_;
  std::string peer_address_;
  std::unique_ptr<ConnectAttempt> attempt_;
  std::unique_ptr<SshLink> link_;
  std::deque<Bytes> queue_;  // sent before the command runs
  std::size_t unsent_ = 0;
  int generation_ = 0;
  int attempts_ = 0;
  bool in_window_ = false;
  bool opened_ = false;
  bool cancelled_ = false;
  bool ended_ = false;
  bool paused_ = false;
  bool closing_ = false;
};

void Exchange::pump() {
  while (under_way_ < options.window && !waiting_.empty()) {
    const auto dial = waiting_.front().lock();
    waiting_.pop_front();
    if (!dial) continue;
    ++under_way_;
    dial->start();
  }
}

class SshChannel final : public Channel {
 public:
  explicit SshChannel(std::shared_ptr<Dial> dial) : dial_(std::move(dial)) {}
  ~SshChannel() override { dial_->cancel(); }
  SshChannel(const SshChannel&) = delete;
  SshChannel& operator=(const SshChannel&) = delete;
  void send(Bytes bytes) override { dial_->send(std::move(bytes)); }
  [[nodiscard]] std::size_t unsent() const override { return dial_->unsent(); }
  void pause_reading(bool pause) override { dial_->pause(pause); }
  [[nodiscard]] std::string peer_address() const override { return dial_->peer_address(); }
  void close() override { dial_->close(); }

 private:
  std::shared_ptr<Dial> dial_;
};

class SshTransport final : public Transport {
 public:
  SshTransport(asio::io_context& io, SshOptions options)
      : exchange_(std::make_shared<Exchange>(io, std::move(options))) {}

  std::unique_ptr<Channel> open(const Host& host, ChannelEvents events) override {
    auto dial = std::make_shared<Dial>(exchange_, host, std::move(events));
    exchange_->enqueue(dial);
    return std::make_unique<SshChannel>(std::move(dial));
  }

 private:
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace

std::unique_ptr<Transport> make_ssh_transport(asio::io_context& io, SshOptions options) {
  return std::make_unique<SshTransport>(io, std::move(options));
}

}  // namespace ds::launcher
