// Opens a socket for each attempt, fetches the host's certificate if known_hosts names an
// authority, and retries with jitter, within a limit.
#include <fmt/format.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/write.hpp>
#include <utility>

#include "launcher/transport/host_keys/host_certificate.h"
#include "launcher/transport/ssh/ssh_connection.h"

namespace ds::launcher {

/// Runs a CertificateRequest over a connection of its own, with a deadline. Destroying it closes
/// the connection and silences `done`.
class CertificateFetch {
 public:
  /// Takes the certificate (nothing if the host has none of the algorithms), or a problem, and
  /// whether that is worth another attempt. May destroy the fetch.
  using Done = std::function<void(std::optional<HostKey>, const std::string&, bool transient)>;

  CertificateFetch(asio::io_context& io, UniqueFd socket, std::string algorithms,
                   std::chrono::milliseconds limit, Done done)
      : request_(std::move(algorithms)),
        socket_(io, socket.release()),
        timer_(io),
        done_(std::move(done)) {
    timer_.expires_after(limit);
    timer_.async_wait([this, limit, life = std::weak_ptr(life_)](const asio::error_code& error) {
      if (error || life.expired()) return;
      finish({}, fmt::format("the server did not show its host key within {} s",
                             std::chrono::duration<double>(limit).count()));
    });
    send(request_.greeting());
    read();
  }

 private:
  void send(std::string bytes) {
    if (bytes.empty()) return;
    auto kept = std::make_shared<std::string>(std::move(bytes));
    // A failed write shows up as the end of the connection.
    asio::async_write(socket_, asio::buffer(*kept),
                      [kept](const asio::error_code&, std::size_t) {});
  }

  void read() {
    socket_.async_read_some(
        asio::buffer(buffer_),
        [this, life = std::weak_ptr(life_)](const asio::error_code& error, std::size_t count) {
          if (life.expired()) return;
          if (error) return finish({}, "the server hung up", true);
          send(request_.take({buffer_.data(), count}));
          if (!request_.done()) return read();
          finish(request_.certificate(), request_.problem());
        });
  }

  void finish(std::optional<HostKey> certificate, const std::string& problem,
              bool transient = false) {
    life_.reset();
    const auto done = std::move(done_);
    done(std::move(certificate), std::string(problem), transient);
  }

  CertificateRequest request_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer timer_;
  Done done_;
  std::array<char, 4096> buffer_{};
  std::shared_ptr<int> life_ = std::make_shared<int>();
};

SshAttempts::SshAttempts(SshExchange& exchange, const SshSettings& settings,
                         std::span<const SshSettings> jumps, std::function<void(Reached)> on_socket,
                         std::function<void(ChannelEnd)> on_failed)
    : exchange_(exchange),
      settings_(settings),
      jumps_(jumps),
      on_socket_(std::move(on_socket)),
      on_failed_(std::move(on_failed)),
      timer_(exchange.io) {
  attempt();
}

SshAttempts::~SshAttempts() = default;

void SshAttempts::attempt() {
  connection_ = open_connection(exchange_, settings_, jumps_,
                                [this](Reached reached) { this->reached(std::move(reached)); });
}

/// A host behind an authority is asked for its certificate first, on a connection of its own.
void SshAttempts::reached(Reached reached) {
  if (!reached.socket)
    return ended(
        {{ChannelEnd::Kind::unreachable, std::move(reached.problem), std::move(reached.stage)},
         reached.transient});
  if (!certificate_) {
    std::string algorithms = exchange_.certificates_to_ask_for(settings_);
    if (!algorithms.empty()) {
      certificate_fetch_ = std::make_unique<CertificateFetch>(
          exchange_.io, std::move(reached.socket), std::move(algorithms),
          exchange_.options.limits.handshake,
          [this](std::optional<HostKey> certificate, const std::string& problem, bool transient) {
            fetched(std::move(certificate), problem, transient);
          });
      return;
    }
    certificate_.emplace();
  }
  reached.certificate = *certificate_;
  on_socket_(std::move(reached));
}

void SshAttempts::fetched(std::optional<HostKey> certificate, const std::string& problem,
                          bool transient) {
  certificate_fetch_.reset();
  if (!problem.empty())
    return ended({{ChannelEnd::Kind::unreachable, "its host certificate cannot be read: " + problem,
                   stage::kKeyExchange},
                  transient});
  certificate_ = std::move(certificate);
  attempt();
}

void SshAttempts::ended(SshLinkEnd end) {
  ++attempts_;
  const bool failed = end.end.kind != ChannelEnd::Kind::closed;
  if (failed) {
    const std::string trouble = connection_->trouble();
    if (!trouble.empty()) end.end.reason += "; " + trouble;
    if (connection_->hopeless()) end.transient = false;
  }
  const bool in_time = Clock::now() < begin_ + exchange_.options.retry_limit;
  if (!end.transient || attempts_ >= exchange_.options.max_attempts || !in_time) {
    if (attempts_ > 1 && failed) end.end.reason += fmt::format(" ({} attempts)", attempts_);
    return on_failed_(std::move(end.end));
  }
  // A server at its MaxStartups drops connections at random; the other ones need time to log in.
  timer_.expires_after(exchange_.jitter(attempts_));
  timer_.async_wait([this, life = std::weak_ptr(life_)](const asio::error_code& error) {
    if (!error && !life.expired()) attempt();
  });
}

}  // namespace ds::launcher
