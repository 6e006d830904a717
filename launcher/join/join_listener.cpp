#include "launcher/join/join_listener.h"

#include <fmt/format.h>

#include <asio/ip/v6_only.hpp>
#include <chrono>
#include <thread>
#include <utility>

#include "engine/base/deadline.h"
#include "engine/base/error.h"

namespace ds::launcher {
namespace {

using asio::ip::tcp;

/// Where pods have the network of their node, a waiting node of the job may hold the port to hear
/// the root's knock. It leaves the port to the root once a lookup has shown it the root's address.
constexpr std::chrono::seconds kPortWait{10};
constexpr std::chrono::milliseconds kPortRetry{200};

}  // namespace

JoinListener::JoinListener(asio::io_context& io, Place place,
                           const std::function<void(const std::string&)>& on_taken,
                           std::function<void(tcp::socket)> on_accepted)
    : place_(std::move(place)),
      on_accepted_(std::move(on_accepted)),
      acceptor_(io),
      pause_(io) {
  listen(on_taken);
  accept();
}

void JoinListener::listen(const std::function<void(const std::string&)>& on_taken) {
  asio::error_code error = try_to_listen();
  if (error == asio::error::address_in_use)
    on_taken(fmt::format("port {} is taken on this machine; trying again for {} s", place_.port,
                         kPortWait.count()));
  const Deadline deadline = Deadline::after(kPortWait);
  while (error == asio::error::address_in_use && !deadline.passed()) {
    std::this_thread::sleep_for(kPortRetry);
    error = try_to_listen();
  }
  if (error)
    throw Error(ErrorKind::system,
                fmt::format("cannot listen on {}port {} for nodes that join: {}",
                            place_.address.empty() ? "" : place_.address + " ", place_.port,
                            error.message()),
                "another job may hold it: --join-port chooses another one");
}

asio::error_code JoinListener::try_to_listen() {
  if (place_.address.empty()) {
    const asio::error_code error = listen_at({tcp::v6(), place_.port});
    // Otherwise the kernel has no IPv6.
    if (error != asio::error::address_family_not_supported) return error;
    return listen_at({tcp::v4(), place_.port});
  }
  asio::error_code error;
  const asio::ip::address address = asio::ip::make_address(place_.address, error);
  return error ? error : listen_at({address, place_.port});
}

asio::error_code JoinListener::listen_at(const tcp::endpoint& endpoint) {
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
    on_accepted_(std::move(socket));
    accept();
  });
}

}  // namespace ds::launcher
