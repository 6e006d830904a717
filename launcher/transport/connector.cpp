// Connects to several addresses without blocking, staggered, until a deadline.
#include "launcher/transport/connector.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <cstring>
#include <deque>
#include <optional>

namespace ds::launcher {

namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kStagger = 250ms;  // RFC 8305
constexpr int kProbes = 3;

void set_option(int fd, int level, int name, int value) {
  // A kernel without one of these options still works: heartbeats of the job notice a lost node.
  (void)::setsockopt(fd, level, name, &value, sizeof value);
}

void prepare(int fd, const ConnectOptions& options) {
  (void)::fcntl(fd, F_SETFD,
                FD_CLOEXEC);  // libssh does not set it, and ranks would inherit every connection
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  if (!options.keep_alive) return;
  // On an idle connection only probes can be unanswered: the first goes out after half the time,
  // all of them within it.
  const int seconds =
      static_cast<int>(std::clamp<long>(options.dead_after.count() / 1000, 2, 7200));
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds / 2);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / (2 * kProbes)));
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

std::optional<tcp::endpoint> interface_address(const std::string& name, int family) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return std::nullopt;
  std::optional<tcp::endpoint> found;
  for (const ifaddrs* entry = list; entry != nullptr && !found; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) continue;
    if (name != entry->ifa_name) continue;
    const std::size_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), entry->ifa_addr, size);
    endpoint.resize(size);
    // A link-local address reaches only the link's other link-local addresses.
    const auto address = endpoint.address();
    if (!address.is_v6() || !address.to_v6().is_link_local()) found = endpoint;
  }
  ::freeifaddrs(list);
  return found;
}

/// Binds the socket to its own address, if ssh_config names one.
asio::error_code bind_own_end(tcp::socket& socket, const tcp::endpoint& peer,
                              const ConnectOptions& options) {
  asio::error_code error;
  if (!options.bind_address.empty()) {
    const auto own = asio::ip::make_address(options.bind_address, error);
    if (error) return error;
    if (own.is_v4() != peer.address().is_v4()) return asio::error::address_family_not_supported;
    socket.bind(tcp::endpoint(own, 0), error);
  } else if (!options.bind_interface.empty()) {
    const auto own = interface_address(options.bind_interface, peer.protocol().family());
    if (!own) return asio::error::address_family_not_supported;
    socket.bind(*own, error);
  }
  return error;
}

class Attempt final : public ConnectAttempt {
 public:
  Attempt(asio::io_context& io, std::vector<tcp::endpoint> addresses, ConnectOptions options,
          std::function<void(Connected)> done)
      : io_(io),
        addresses_(std::move(addresses)),
        options_(std::move(options)),
        done_(std::move(done)),
        stagger_(io),
        limit_(io) {
    limit_.expires_after(options_.limit - options_.spent);
    limit_.async_wait([this, life = std::weak_ptr(life_)](const asio::error_code& error) {
      if (!error && !life.expired()) give_up();
    });
    try_next();
  }

 private:
  void try_next() {
    if (next_ == addresses_.size()) return;
    const tcp::endpoint endpoint = addresses_[next_++];
    tcp::socket& socket = sockets_.emplace_back(io_);
    asio::error_code error;
    socket.open(endpoint.protocol(), error);
    if (!error) error = bind_own_end(socket, endpoint, options_);
    ++pending_;
    const auto report = [this, life = std::weak_ptr(life_), &socket,
                         endpoint](const asio::error_code& result) {
      if (!life.expired()) tried(socket, endpoint, result);
    };
    if (error) {
      asio::post(io_, [report, error] { report(error); });
    } else {
      prepare(socket.native_handle(), options_);
      socket.async_connect(endpoint, report);
    }
    if (next_ == addresses_.size()) return;
    stagger_.expires_after(kStagger);
    stagger_.async_wait([this, life = std::weak_ptr(life_)](const asio::error_code& result) {
      if (!result && !life.expired()) try_next();
    });
  }

  void tried(tcp::socket& socket, const tcp::endpoint& endpoint, const asio::error_code& error) {
    --pending_;
    if (!error) {
      socket.non_blocking(true);
      // Set before connect(), it would also end the attempt: Linux applies it to SYN packets.
      if (options_.dead_after.count() > 0)
        set_option(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT,
                   static_cast<int>(options_.dead_after.count()));
      return finish({UniqueFd(socket.release()), address_text(endpoint), {}, false});
    }
    transient_ = error == asio::error::connection_reset || error == asio::error::connection_aborted;
    problems_ += fmt::format("{}{}: {}", problems_.empty() ? "" : ", ", address_text(endpoint),
                             error.message());
    if (next_ < addresses_.size()) {
      stagger_.cancel();
      try_next();
    } else if (pending_ == 0) {
      finish({UniqueFd(), {}, problems_, transient_});
    }
  }

  void give_up() {
    const std::string why = fmt::format("no answer within {:.6g} s",
                                        std::chrono::duration<double>(options_.limit).count());
    finish({UniqueFd(), {}, problems_.empty() ? why : problems_ + ", " + why, false});
  }

  void finish(Connected result) {
    life_.reset();
    sockets_.clear();
    stagger_.cancel();
    limit_.cancel();
    const auto done = std::move(done_);
    done(std::move(result));  // may destroy this
  }

  asio::io_context& io_;
  std::vector<tcp::endpoint> addresses_;
  ConnectOptions options_;
  std::function<void(Connected)> done_;
  asio::steady_timer stagger_;
  asio::steady_timer limit_;
  std::deque<tcp::socket> sockets_;
  std::size_t next_ = 0;
  int pending_ = 0;
  bool transient_ = false;
  std::string problems_;
  std::shared_ptr<int> life_ = std::make_shared<int>();  // expires at the end: handlers check it
};

}  // namespace

std::string address_text(const tcp::endpoint& endpoint) { return endpoint.address().to_string(); }

std::unique_ptr<ConnectAttempt> connect_any(asio::io_context& io,
                                            std::vector<tcp::endpoint> addresses,
                                            ConnectOptions options,
                                            std::function<void(Connected)> done) {
  return std::make_unique<Attempt>(io, std::move(addresses), std::move(options), std::move(done));
}

}  // namespace ds::launcher
