// Knocks: connections that say only where they come from.
#include "launcher/join/knock.h"

#include <array>
#include <asio/ip/v6_only.hpp>
#include <asio/read.hpp>
#include <asio/steady_timer.hpp>
#include <utility>
#include <vector>

namespace ds::launcher {
namespace {

constexpr std::chrono::seconds kKnockLimit{2};
constexpr int kBacklog = 4;  // only one root knocks

}  // namespace

void Knocker::knock(const std::string& name, std::function<void(const DnsResult&)> told) {
  names_.look_up(name, [this, name, told = std::move(told)](const DnsResult& result) {
    told(result);
    std::vector<asio::ip::tcp::endpoint> ends;
    for (const auto& address : result.addresses) ends.emplace_back(address, port_);
    if (ends.empty()) return;
    ConnectOptions options;
    options.limit = kKnockLimit;
    // The connection ends with `Connected`, as nothing keeps its socket.
    attempts_[name] = connect_any(io_, std::move(ends), options, [](const Connected&) {});
  });
}

/// A connection until its sender has closed it, has written too much or is too slow.
struct KnockListener::Knock {
  explicit Knock(asio::ip::tcp::socket from) : socket(std::move(from)), limit(socket.get_executor()) {}
  asio::ip::tcp::socket socket;
  asio::steady_timer limit;
  std::array<char, 64> text{};  // a host name has 63 bytes at most
};

KnockListener::KnockListener(asio::io_context& io, const std::string& address, std::uint16_t port,
                             Heard heard)
    : acceptor_(io), heard_(std::make_shared<Heard>(std::move(heard))) {
  asio::error_code error;
  const asio::ip::tcp::endpoint end(asio::ip::make_address(address, error), port);
  if (error) return;
  acceptor_.open(end.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error && end.address().is_v6()) acceptor_.set_option(asio::ip::v6_only(true), error);
  if (!error) acceptor_.bind(end, error);
  if (!error) acceptor_.listen(kBacklog, error);
  if (!error) listen();
}

void KnockListener::listen() {
  acceptor_.async_accept([this](const asio::error_code& error, asio::ip::tcp::socket from) {
    if (error) return;  // such as no descriptors left: knocks are only hints
    listen();
    asio::error_code gone;
    const std::string sender = address_text(from.remote_endpoint(gone));
    if (gone) return;
    const auto knock = std::make_shared<Knock>(std::move(from));
    knock->limit.expires_after(kKnockLimit);
    knock->limit.async_wait([knock](const asio::error_code& cancelled) {
      if (!cancelled) knock->socket.close();
    });
    const auto heard = [told = std::weak_ptr(heard_), knock, sender](const asio::error_code&,
                                                                     std::size_t size) {
      knock->limit.cancel();
      if (const auto tell = told.lock()) (*tell)(sender, std::string(knock->text.data(), size));
    };
    asio::async_read(knock->socket, asio::buffer(knock->text), heard);
  });
}

}  // namespace ds::launcher
