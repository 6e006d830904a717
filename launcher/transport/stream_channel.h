// Channel to a process of this machine over a stream socket: sends queued bytes, delivers received
// ones.
#pragma once

#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "engine/base/unique_fd.h"
#include "launcher/transport/transport.h"

namespace ds::launcher {

/// Bytes that are sent before attach() wait. A derived class says how the process ends.
class StreamChannel : public Channel {
 public:
  StreamChannel(asio::io_context& io, std::string host_name, ChannelEvents events);
  void send(Bytes bytes) override;
  void send_shared(SharedBytes bytes) override;
  [[nodiscard]] std::size_t unsent() const override { return queue_.size(); }
  void close() override;

 protected:
  void attach(UniqueFd socket);
  /// Called at the end of the received bytes. The channel ends by end(), now or later.
  virtual void on_eof() = 0;
  /// Called before bytes are delivered.
  virtual void on_received() {}
  /// Calls `then` after `span` unless this is called again or the channel ends.
  void after(std::chrono::milliseconds span, std::function<void()> then);
  void cancel_timer() { timer_.cancel(); }
  /// Reports the end once; nothing may follow it, because the owner may destroy the channel.
  void end(ChannelEnd::Kind kind, const char* stage, const std::string& why);
  [[nodiscard]] bool ended() const { return events_ == nullptr; }

  std::shared_ptr<ChannelEvents> events_;  // expires at the end: late handlers check it

 private:
  void wait_for_bytes();
  void read();
  void start_writing() {
    if (!writing_ && !queue_.empty() && socket_.is_open()) write();
  }
  void write();
  void on_written(const asio::error_code& error, std::size_t count);
  void shut_down();

  std::string host_name_;
  asio::local::stream_protocol::socket socket_;
  asio::steady_timer timer_;
  SendQueue queue_;
  bool writing_ = false;
  bool closing_ = false;
};

}  // namespace ds::launcher
