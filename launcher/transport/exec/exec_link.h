// Runs one program of an exec transport, and moves bytes between it and the channel.
#pragma once

#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/transport/child_process.h"
#include "launcher/transport/transport.h"

namespace ds::launcher {

/// Kept alive by its pending waits; `abandon` silences it and kills the program.
class ExecLink : public std::enable_shared_from_this<ExecLink> {
 public:
  ExecLink(asio::io_context& io, std::string host_name, ChannelEvents events)
      : io_(io),
        host_name_(std::move(host_name)),
        events_(std::move(events)),
        socket_(io),
        timer_(io) {}
  ExecLink(const ExecLink&) = delete;
  ExecLink& operator=(const ExecLink&) = delete;
  ~ExecLink() = default;

  /// Starts the program; its first byte is due within `start_limit`. `on_settled` is called once,
  /// when the program has answered or failed.
  void start(const std::vector<std::string>& argv, std::chrono::milliseconds start_limit,
             std::function<void()> on_settled);
  void refuse(const std::string& why) { end(ChannelEnd::Kind::unreachable, stage::kConfig, why); }
  void send(Bytes bytes);
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  void close();
  void abandon();

 private:
  void limit(std::chrono::milliseconds span, void (ExecLink::*then)());
  void too_late();
  void wait_for_bytes();
  void read();
  void on_exit(const ExitStatus& status);
  void finish();
  void write();
  void shut_down();
  void settle();
  void end(ChannelEnd::Kind kind, const char* stage, const std::string& why);

  asio::io_context& io_;
  std::string host_name_;
  ChannelEvents events_;
  std::function<void()> on_settled_;
  std::string program_;
  std::chrono::milliseconds start_limit_{};
  std::unique_ptr<ChildProcess> process_;
  asio::local::stream_protocol::socket socket_;
  asio::steady_timer timer_;
  std::deque<Bytes> queue_;
  std::size_t sent_ = 0;
  std::size_t unsent_ = 0;
  std::optional<ExitStatus> status_;
  bool answered_ = false;
  bool waiting_ = false;
  bool closing_ = false;
  bool eof_ = false;
  bool ended_ = false;
};

}  // namespace ds::launcher
