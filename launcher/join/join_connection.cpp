#include "launcher/join/join_connection.h"

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/write.hpp>
#include <utility>

#include "launcher/transport/connector.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

constexpr const char* kClosed = "the other side closed the connection";

}  // namespace

JoinConnection::JoinConnection(asio::ip::tcp::socket socket, TlsSession::Side side,
                               const JoinKey& key, JoinConnectionEvents events)
    : socket_(std::move(socket)),
      tls_(side, key),
      events_(std::move(events)),
      handshake_(socket_.get_executor()),
      last_heard_(Clock::now()),
      last_sent_(last_heard_) {
  asio::error_code unknown;
  socket_.non_blocking(true, unknown);
  auto endpoint = socket_.remote_endpoint(unknown);
  if (unknown) return;
  const auto address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    endpoint.address(asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()));
  peer_ = address_text(endpoint);
}

void JoinConnection::start() {
  handshake_.expires_after(kHandshakeLimit);
  handshake_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error && !self->established()) self->end("no TLS handshake within 10 s");
  });
  flush();
  read();
}

/// Waits without a buffer: a root has thousands of connections, and few are active at a time.
void JoinConnection::read() {
  if (ended_) return;
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const asio::error_code& error) {
                       if (!self->ended_) self->take_bytes(error);
                     });
}

void JoinConnection::take_bytes(asio::error_code error) {
  std::array<std::byte, 65536> buffer;
  const std::size_t count = error ? 0 : socket_.read_some(asio::buffer(buffer), error);
  if (error == asio::error::would_block || error == asio::error::try_again) return read();
  if (count > 0) {
    last_heard_ = Clock::now();
    Bytes plain;
    tls_.receive(std::span(buffer).first(count), plain);
    decoder_.feed(plain);
    flush();  // handshake answers, and the reason for an end
    if (tls_.established() && !std::exchange(told_established_, true)) {
      handshake_.cancel();
      if (events_.on_established) events_.on_established();
    }
    take_records();
  }
  if (ended_) return;
  if (tls_.problem()) return end(*tls_.problem());
  if (tls_.ended() || error == asio::error::eof) return end(kClosed);
  if (error) return end(error.message());
  read();
}

void JoinConnection::take_records() {
  while (!ended_ && events_.on_record) {
    std::optional<JoinRecord> record = decoder_.next();
    if (!record) break;
    events_.on_record(shared_from_this(), *record);
  }
  if (!ended_ && decoder_.error()) end(*decoder_.error());
}

void JoinConnection::send(const JoinRecord& record) {
  const auto* const long_bytes = std::get_if<AgentBytes>(&record);
  if (long_bytes != nullptr && long_bytes->bytes.size() > kPiece) {
    send(AgentBytes{long_bytes->session, long_bytes->bytes.first(kPiece)});
    return send(AgentBytes{long_bytes->session, long_bytes->bytes.subspan(kPiece)});
  }
  if (ended_ || closing_) return;
  const Bytes bytes = encode_join(record);
  unsent_ += bytes.size();
  tls_.send(bytes);
  flush();
}

void JoinConnection::flush() {
  if (writing_now_ || ended_) return;
  writing_ = tls_.take_wire();
  if (writing_.empty()) {
    if (closing_ && tls_.established() && !std::exchange(shut_, true)) {
      asio::error_code ignored;
      socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    }
    return;
  }
  writing_now_ = true;
  asio::async_write(socket_, asio::buffer(writing_),
                    [self = shared_from_this()](asio::error_code error, std::size_t) {
                      self->writing_now_ = false;
                      if (self->ended_ || error) return;  // the read reports the end too
                      self->last_sent_ = Clock::now();
                      // Bytes that were sent during this write are still inside TLS.
                      self->flush();
                      if (!self->writing_now_ && self->tls_.established()) self->unsent_ = 0;
                    });
}

void JoinConnection::close() {
  if (std::exchange(closing_, true) || ended_) return;
  tls_.close();
  flush();
}

void JoinConnection::abandon() {
  ended_ = true;
  handshake_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
}

void JoinConnection::end(const std::string& why) {
  if (ended_) return;
  // The reason for a refused handshake is in transit; closing the socket at once would discard it.
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  abandon();
  if (events_.on_end) events_.on_end(shared_from_this(), why, told_established_);
}

}  // namespace ds::launcher
