// Channels of an ssh transport: each dials one host, from its name to a running remote command.
#include "launcher/transport/ssh/ssh_transport.h"

#include <fmt/format.h>

#include <deque>
#include <utility>

#include "engine/base/error.h"
#include "launcher/transport/ssh/ssh_connection.h"
#include "launcher/transport/ssh/ssh_exchange.h"

namespace ds::launcher {

namespace {

class SshChannel final : public Channel {
 public:
  SshChannel(std::shared_ptr<SshExchange> exchange, const Host& host, ChannelEvents events)
      : exchange_(std::move(exchange)),
        host_(host),
        events_(std::make_shared<ChannelEvents>(std::move(events))) {
    ++exchange_->starting;
    exchange_->logins->enqueue([this, life = std::weak_ptr(events_)] {
      if (life.expired()) return false;
      in_window_ = true;
      start();
      return true;
    });
  }
  ~SshChannel() override {
    link_.reset();
    attempts_.reset();
    leave_queues();
    settle();
  }

  void send(Bytes bytes) override {
    if (opened_) return link_->send(std::move(bytes));
    unsent_ += bytes.size();
    queue_.push_back(std::move(bytes));
  }
  void send_shared(SharedBytes bytes) override {
    if (opened_) return link_->send_shared(std::move(bytes));
    send(Bytes(*bytes));  // Before the agent answers, only its first frames wait.
  }
  [[nodiscard]] std::size_t unsent() const override { return opened_ ? link_->unsent() : unsent_; }
  [[nodiscard]] std::string peer_address() const override { return peer_address_; }
  void close() override {
    closing_ = true;
    if (opened_) link_->close();
  }

 private:
  void start() {
    try {
      route_ = exchange_->route(host_);
    } catch (const Error& error) {
      return end(
          {ChannelEnd::Kind::unreachable,
           error.hint().empty() ? error.what() : fmt::format("{}; {}", error.what(), error.hint()),
           stage::kConfig});
    }
    // The attempts live in this channel and are silent once destroyed.
    attempts_ = std::make_unique<SshAttempts>(
        *exchange_, route_.target, route_.jumps,
        [this](Reached reached) { log_in(std::move(reached)); },
        [this](ChannelEnd end) { failed(std::move(end)); });
  }

  void log_in(Reached reached) {
    peer_address_ = std::move(reached.address);
    SshEvents events = exchange_->login_events(route_.target, reached);
    events.on_up = [this] { opened(); };
    events.on_end = [this](SshLinkEnd end) {
      leave_copies();  // another attempt queues again
      attempts_->ended(std::move(end));
    };
    events.on_warning = [this](const std::string& text) {
      exchange_->warn_about(host_.name, {text, text});
    };
    events.on_copy_wanted = [this] { wait_for_copy(); };
    events.on_answered = [this] {
      leave_copies();
      settle();
    };
    events.on_bytes = [this](std::span<const std::byte> bytes) {
      const auto keep = events_;  // the owner may destroy the channel
      keep->on_bytes(bytes);
    };
    events.on_noise = [this](std::string_view text) {
      const auto keep = events_;
      if (keep->on_noise) keep->on_noise(text);
    };
    SshCommand command = exchange_->options;
    command.copy = [exchange = exchange_] { return exchange->agent_copy(); };
    link_ =
        make_ssh_link(exchange_->io, exchange_->keyring, exchange_->login(route_.target, reached),
                      std::move(command), std::move(events));
  }

  void opened() {
    leave_window();
    opened_ = true;
    for (Bytes& bytes : queue_) link_->send(std::move(bytes));
    queue_.clear();
    if (closing_) link_->close();
  }

  void wait_for_copy() {
    exchange_->copies->enqueue([this, life = std::weak_ptr(events_)] {
      if (life.expired() || ended_) return false;
      copying_ = true;
      link_->copy_now();
      return true;
    });
  }

  void failed(ChannelEnd end) {
    const std::string& dialed = route_.target.host_name;
    const std::string name =
        dialed == host_.name ? host_.name : fmt::format("{} ({})", host_.name, dialed);
    const bool closed = end.kind == ChannelEnd::Kind::closed;
    end.reason = closed ? std::string() : fmt::format("{}: {}", name, end.reason);
    this->end(std::move(end));
  }

  void end(ChannelEnd end) {
    leave_queues();
    settle();
    ended_ = true;
    const auto keep = events_;
    keep->on_end(std::move(end));
  }

  void leave_window() {
    if (std::exchange(in_window_, false)) exchange_->logins->done();
  }
  void leave_copies() {
    if (std::exchange(copying_, false)) exchange_->copies->done();
  }
  void leave_queues() {
    leave_window();
    leave_copies();
  }
  void settle() {
    if (!std::exchange(starting_, false)) return;
    if (--exchange_->starting == 0) exchange_->print_warnings();
  }

  std::shared_ptr<SshExchange> exchange_;
  Host host_;
  std::shared_ptr<ChannelEvents> events_;  // expires with the channel: late events check it
  SshRoute route_;
  std::unique_ptr<SshAttempts> attempts_;
  std::shared_ptr<SshLink> link_;  // its socket belongs to the attempts
  std::string peer_address_;
  std::deque<Bytes> queue_;  // to be sent when the command runs
  std::size_t unsent_ = 0;
  bool in_window_ = false;
  bool copying_ = false;
  bool starting_ = true;  // neither answered nor ended
  bool opened_ = false;
  bool ended_ = false;
  bool closing_ = false;
};

class SshTransport final : public Transport {
 public:
  SshTransport(asio::io_context& io, SshOptions options)
      : exchange_(std::make_shared<SshExchange>(io, std::move(options))) {}

  void prepare(std::span<const Host> hosts) override { exchange_->prepare(hosts); }
  [[nodiscard]] std::string user_of(const Host& host) const override {
    return exchange_->user_of(host);
  }
  std::unique_ptr<Channel> open(const Host& host, ChannelEvents events) override {
    return std::make_unique<SshChannel>(exchange_, host, std::move(events));
  }

 private:
  std::shared_ptr<SshExchange> exchange_;
};

}  // namespace

std::unique_ptr<Transport> make_ssh_transport(asio::io_context& io, SshOptions options) {
  return std::make_unique<SshTransport>(io, std::move(options));
}

}  // namespace ds::launcher
