// Implements Transport and Channel by dials.
#include "launcher/transport/ssh/ssh_transport.h"

#include "launcher/transport/ssh/ssh_dial.h"

namespace ds::launcher {

namespace {

class SshChannel final : public Channel {
 public:
  explicit SshChannel(std::shared_ptr<SshDial> dial) : dial_(std::move(dial)) {}
  ~SshChannel() override { dial_->cancel(); }
  SshChannel(const SshChannel&) = delete;
  SshChannel& operator=(const SshChannel&) = delete;
  void send(Bytes bytes) override { dial_->send(std::move(bytes)); }
  [[nodiscard]] std::size_t unsent() const override { return dial_->unsent(); }
  [[nodiscard]] std::string peer_address() const override { return dial_->peer_address(); }
  void close() override { dial_->close(); }

 private:
  std::shared_ptr<SshDial> dial_;
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
    auto dial = std::make_shared<SshDial>(exchange_, host, std::move(events));
    dial->enqueue();
    return std::make_unique<SshChannel>(std::move(dial));
  }

 private:
  std::shared_ptr<SshExchange> exchange_;
};

}  // namespace

std::unique_ptr<Transport> make_ssh_transport(asio::io_context& io, SshOptions options) {
  return std::make_unique<SshTransport>(io, std::move(options));
}

}  // namespace ds::launcher
