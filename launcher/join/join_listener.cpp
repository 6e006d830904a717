// Listens on IPv6 with IPv4 where possible; pauses when accept() fails.
#include "launcher/join/join_listener.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <asio/ip/v6_only.hpp>

#include "engine/base/error.h"

namespace ds::launcher {

using asio::ip::tcp;

struct JoinListener::State : std::enable_shared_from_this<JoinListener::State> {
  State(asio::io_context& io, std::chrono::milliseconds dead,
        std::function<void(tcp::socket)> taker)
      : acceptor(io), pause(io), dead_after(dead), on_socket(std::move(taker)) {}

  void listen(std::uint16_t port, const std::string& bind_address) {
    asio::error_code error;
    tcp::endpoint endpoint(tcp::v6(), port);
    if (!bind_address.empty())
      endpoint = tcp::endpoint(asio::ip::make_address(bind_address, error), port);
    if (!error) error = bind(endpoint);
    if (error == asio::error::address_family_not_supported && bind_address.empty())
      error = bind(tcp::endpoint(tcp::v4(), port));  // a kernel without IPv6
    if (!error) return;
    const std::string where = bind_address.empty() ? "" : bind_address + " ";
    throw Error(ErrorKind::system,
                fmt::format("cannot listen on {}port {} for nodes that join: {}", where, port,
                            error.message()),
                "another job may hold it: --join-port chooses another one");
  }

  asio::error_code bind(const tcp::endpoint& endpoint) {
    asio::error_code error;
    asio::error_code ignored;
    acceptor.close(ignored);
    acceptor.open(endpoint.protocol(), error);
    if (error) return error;
    acceptor.set_option(tcp::acceptor::reuse_address(true), ignored);
    if (endpoint.protocol() == tcp::v6()) acceptor.set_option(asio::ip::v6_only(false), ignored);
    acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(SOMAXCONN, error);
    return error;
  }

  void accept() {
    acceptor.async_accept(
        [weak = weak_from_this()](const asio::error_code& error, tcp::socket socket) {
          const auto self = weak.lock();
          if (!self || !self->on_socket || error == asio::error::operation_aborted) return;
          if (error) return self->accept_later();
          self->prepare(socket);
          self->on_socket(std::move(socket));
          self->accept();
        });
  }

  /// Retries after 100 ms, for example when no descriptor is free.
  void accept_later() {
    pause.expires_after(std::chrono::milliseconds(100));
    pause.async_wait([weak = weak_from_this()](const asio::error_code& error) {
      const auto self = weak.lock();
      if (self && !error && self->on_socket) self->accept();
    });
  }

  void prepare(tcp::socket& socket) const {
    asio::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    const int limit = static_cast<int>(dead_after.count());
    (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
  }

  tcp::acceptor acceptor;
  asio::steady_timer pause;
  std::chrono::milliseconds dead_after;
  std::function<void(tcp::socket)> on_socket;
};

JoinListener::JoinListener(asio::io_context& io, std::uint16_t port,
                           const std::string& bind_address, std::chrono::milliseconds dead_after,
                           std::function<void(tcp::socket)> on_socket)
    : state_(std::make_shared<State>(io, dead_after, std::move(on_socket))) {
  state_->listen(port, bind_address);
  state_->accept();
}

JoinListener::~JoinListener() {
  state_->on_socket = nullptr;
  asio::error_code ignored;
  state_->acceptor.close(ignored);
  state_->pause.cancel();
}

std::uint16_t JoinListener::port() const { return state_->acceptor.local_endpoint().port(); }

}  // namespace ds::launcher
