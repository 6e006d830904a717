#include "launcher/join/knock.h"

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

KnockListener::KnockListener(asio::io_context& io, const std::string& address, std::uint16_t port,
                             std::function<void(const std::string&)> heard)
    : acceptor_(io), heard_(std::move(heard)) {
  asio::error_code error;
  const asio::ip::tcp::endpoint end(asio::ip::make_address(address, error), port);
  if (error) return;
  acceptor_.open(end.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(end, error);
  if (!error) acceptor_.listen(kBacklog, error);
  if (!error) listen();
}

void KnockListener::listen() {
  acceptor_.async_accept([this](const asio::error_code& error, const asio::ip::tcp::socket& from) {
    if (error == asio::error::operation_aborted) return;
    asio::error_code gone;
    const auto sender = error ? asio::ip::tcp::endpoint() : from.remote_endpoint(gone);
    listen();
    if (!error && !gone) heard_(address_text(sender));
  });
}

}  // namespace ds::launcher
