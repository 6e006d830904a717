// Runs a CertificateRequest over a socket, with a deadline.
#include "launcher/transport/ssh/certificate_connection.h"

#include <fmt/format.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <utility>

#include "launcher/transport/host_keys/certificate_request.h"

namespace ds::launcher {

namespace {

/// Kept alive by its pending operations.
class CertificateExchange : public std::enable_shared_from_this<CertificateExchange> {
 public:
  CertificateExchange(asio::io_context& io, UniqueFd socket, std::string algorithms,
                      std::function<void(FetchedCertificate)> done)
      : request_(std::move(algorithms)),
        socket_(io, socket.release()),
        timer_(io),
        done_(std::move(done)) {}

  void start(std::chrono::milliseconds limit) {
    timer_.expires_after(limit);
    timer_.async_wait([self = shared_from_this(), limit](const asio::error_code& error) {
      if (!error)
        self->finish({{},
                      fmt::format("the server did not show its host key within {} s",
                                  std::chrono::duration<double>(limit).count()),
                      false});
    });
    send(request_.greeting());
    read();
  }

  void stop() {
    done_ = nullptr;
    close();
  }

 private:
  void send(std::string bytes) {
    if (bytes.empty()) return;
    auto kept = std::make_shared<std::string>(std::move(bytes));
    // A failed write shows up as the end of the connection.
    asio::async_write(socket_, asio::buffer(*kept),
                      [self = shared_from_this(), kept](const asio::error_code&, std::size_t) {});
  }

  void read() {
    socket_.async_read_some(
        asio::buffer(buffer_),
        [self = shared_from_this()](const asio::error_code& error, std::size_t count) {
          if (!self->done_) return;
          if (error) return self->finish({{}, "the server hung up", true});
          self->send(self->request_.take({self->buffer_.data(), count}));
          if (!self->request_.done()) return self->read();
          self->finish({self->request_.certificate(), self->request_.problem(), false});
        });
  }

  void finish(FetchedCertificate fetched) {
    close();
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(fetched));
  }

  void close() {
    timer_.cancel();
    asio::error_code ignored;
    socket_.close(ignored);
  }

  CertificateRequest request_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer timer_;
  std::function<void(FetchedCertificate)> done_;
  std::array<char, 4096> buffer_{};
};

class FetchingConnection final : public CertificateConnection {
 public:
  explicit FetchingConnection(std::shared_ptr<CertificateExchange> exchange)
      : exchange_(std::move(exchange)) {}
  FetchingConnection(const FetchingConnection&) = delete;
  FetchingConnection& operator=(const FetchingConnection&) = delete;
  ~FetchingConnection() override { exchange_->stop(); }

 private:
  std::shared_ptr<CertificateExchange> exchange_;
};

}  // namespace

std::unique_ptr<CertificateConnection> fetch_certificate(
    asio::io_context& io, UniqueFd socket, std::string algorithms, std::chrono::milliseconds limit,
    std::function<void(FetchedCertificate)> done) {
  auto exchange = std::make_shared<CertificateExchange>(io, std::move(socket),
                                                        std::move(algorithms), std::move(done));
  exchange->start(limit);
  return std::make_unique<FetchingConnection>(std::move(exchange));
}

}  // namespace ds::launcher
