#include "launcher/transport/stream_channel.h"

#include <asio/buffer.hpp>
#include <memory>
#include <utility>

namespace ds::launcher {

namespace {
using Socket = asio::local::stream_protocol::socket;
constexpr std::size_t kReadAtOnce = 256 * 1024;
}  // namespace

StreamChannel::StreamChannel(asio::io_context& io, std::string host_name, ChannelEvents events)
    : events_(std::make_shared<ChannelEvents>(std::move(events))),
      host_name_(std::move(host_name)),
      socket_(io),
      timer_(io) {}

void StreamChannel::attach(UniqueFd socket) {
  socket_.assign(asio::local::stream_protocol(), socket.release());
  socket_.non_blocking(true);
  wait_for_bytes();
  start_writing();
  if (closing_ && queue_.empty()) shut_down();
}

void StreamChannel::wait_for_bytes() {
  socket_.async_wait(Socket::wait_read,
                     [this, life = std::weak_ptr(events_)](const asio::error_code& error) {
                       if (!error && !life.expired()) read();
                     });
}

void StreamChannel::read() {
  // Not on the stack, which `ulimit -s` may limit to less.
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kReadAtOnce);
  asio::error_code error;
  const std::size_t count = socket_.read_some(asio::buffer(buffer.get(), kReadAtOnce), error);
  if (count > 0) {
    const std::weak_ptr<ChannelEvents> life = events_;
    on_received();
    if (const auto events = events_; events->on_bytes)
      events->on_bytes(std::span(buffer.get(), count));
    if (life.expired()) return;  // the owner has destroyed the channel
  }
  const bool more =
      !error || error == asio::error::would_block || error == asio::error::interrupted;
  more ? wait_for_bytes() : on_eof();
}

void StreamChannel::send(Bytes bytes) {
  if (ended()) return;
  queue_.add(std::move(bytes));
  start_writing();
}

void StreamChannel::send_shared(SharedBytes bytes) {
  if (ended()) return;
  queue_.add(std::move(bytes));
  start_writing();
}

void StreamChannel::write() {
  writing_ = true;
  const std::span<const std::byte> next = queue_.front();
  socket_.async_send(
      asio::buffer(next.data(), next.size()),
      [this, life = std::weak_ptr(events_)](const asio::error_code& error, std::size_t count) {
        if (!life.expired()) on_written(error, count);
      });
}

void StreamChannel::on_written(const asio::error_code& error, std::size_t count) {
  writing_ = false;
  if (error) return queue_.clear();  // the reader sees the end as well
  queue_.sent(count);
  if (!queue_.empty()) return write();
  if (closing_) shut_down();
}

void StreamChannel::close() {
  closing_ = true;
  if (queue_.empty() && socket_.is_open()) shut_down();
}

void StreamChannel::shut_down() {
  asio::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void StreamChannel::after(std::chrono::milliseconds span, std::function<void()> then) {
  timer_.expires_after(span);
  timer_.async_wait(
      [life = std::weak_ptr(events_), then = std::move(then)](const asio::error_code& error) {
        if (!error && !life.expired()) then();
      });
}

void StreamChannel::end(ChannelEnd::Kind kind, const char* stage, const std::string& why) {
  if (ended()) return;
  const auto events = std::exchange(events_, nullptr);
  asio::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  events->on_end(
      {kind, kind == ChannelEnd::Kind::closed ? std::string() : host_name_ + ": " + why, stage});
}

}  // namespace ds::launcher
