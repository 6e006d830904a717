#include "launcher/join/join_listener.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <asio/ip/v6_only.hpp>

#include "engine/base/error.h"

namespace ds::launcher {

using asio::ip::tcp;

JoinListener::JoinListener(asio::io_context& io, std::uint16_t port,
                           const std::string& bind_address, std::chrono::milliseconds dead_after,
                           std::function<void(tcp::socket)> on_socket)
    : acceptor_(io), pause_(io), dead_after_(dead_after), on_socket_(std::move(on_socket)) {
  asio::error_code error;
  tcp::endpoint endpoint(tcp::v6(), port);
  if (!bind_address.empty())
    endpoint = tcp::endpoint(asio::ip::make_address(bind_address, error), port);
  if (!error) error = bind(endpoint);
  if (error == asio::error::address_family_not_supported && bind_address.empty())
    error = bind(tcp::endpoint(tcp::v4(), port));  // a kernel without IPv6
  if (error)
    throw Error(ErrorKind::system,
                fmt::format("cannot listen on {}port {} for nodes that join: {}",
                            bind_address.empty() ? "" : bind_address + " ", port, error.message()),
                "another job may hold it: --join-port chooses another one");
  accept();
}

asio::error_code JoinListener::bind(const tcp::endpoint& endpoint) {
  asio::error_code error;
  asio::error_code ignored;
  acceptor_.close(ignored);
  acceptor_.open(endpoint.protocol(), error);
  if (error) return error;
  acceptor_.set_option(tcp::acceptor::reuse_address(true), ignored);
  if (endpoint.protocol() == tcp::v6()) acceptor_.set_option(asio::ip::v6_only(false), ignored);
  acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(SOMAXCONN, error);
  return error;
}

void JoinListener::accept() {
  acceptor_.async_accept([this](const asio::error_code& error, tcp::socket socket) {
    if (error) {  // for example, no descriptor is free
      pause_.expires_after(std::chrono::milliseconds(100));
      return pause_.async_wait([this](const asio::error_code&) { accept(); });
    }
    asio::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    const int limit = static_cast<int>(dead_after_.count());
    (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
    on_socket_(std::move(socket));
    accept();
  });
}

}  // namespace ds::launcher
