// The agent that a joiner runs for its root: one at a time, its bytes with a session's number.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "launcher/transport/transport.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

struct JoinAgentEvents {
  std::function<void(std::uint32_t session, std::span<const std::byte>)> on_bytes;
  /// It is gone, with all that it made. `problem`: empty if it ended as it should.
  std::function<void(std::uint32_t session, const std::string& problem)> on_closed;
};

/// Threads: the io_context's; events never come from inside a call.
class JoinAgent {
 public:
  JoinAgent(asio::io_context& io, std::string place, JoinAgentEvents events);

  /// Waits for the end of an agent that is still clearing up.
  void start(std::uint32_t session);
  /// Frames of the root; those of another session are dropped.
  void pass(std::uint32_t session, std::span<const std::byte> bytes);
  /// The root has said all.
  void end_input(std::uint32_t session);
  /// The root is gone: the ranks are stopped, and nothing more is told.
  void abandon();
  void pause(bool pause);
  [[nodiscard]] bool running() const { return channel_ != nullptr; }
  /// One runs for this root, and its heartbeats say that this node lives.
  [[nodiscard]] bool speaks() const { return running() && !abandoned_; }
  /// All epochs below it have run here.
  [[nodiscard]] std::uint32_t next_epoch() const { return next_epoch_; }

 private:
  void on_end(const std::string& problem);

  asio::io_context& io_;
  std::string place_;
  JoinAgentEvents events_;
  std::unique_ptr<Transport> local_;
  std::unique_ptr<Channel> channel_;
  std::uint32_t session_ = 0;
  std::optional<std::uint32_t> next_session_;
  Bytes next_input_;  // what that one is to get
  Decoder frames_;    // of this session, to the agent
  std::uint32_t next_epoch_ = 0;
  bool abandoned_ = false;
};

}  // namespace ds::launcher
