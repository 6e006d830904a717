// Runs the agent of a joiner: one at a time; its bytes carry the number of a session.
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
  /// The agent and all its processes have ended. `problem`: empty after a normal end.
  std::function<void(std::uint32_t session, const std::string& problem)> on_closed;
};

/// Threads: the io_context's; events never come from inside a call.
class JoinAgent {
 public:
  JoinAgent(asio::io_context& io, std::string place, JoinAgentEvents events);

  /// Starts an agent, after the previous one has cleaned up.
  void start(std::uint32_t session);
  /// Passes frames of the root to the agent; drops frames of another session.
  void pass(std::uint32_t session, std::span<const std::byte> bytes);
  /// Ends the agent's input after the root's last frame.
  void end_input(std::uint32_t session);
  /// Stops the ranks after the loss of the root; no more events are sent.
  void abandon();
  [[nodiscard]] bool running() const { return channel_ != nullptr; }
  /// Returns whether an agent of this root runs; its heartbeats then replace pings.
  [[nodiscard]] bool speaks() const { return running() && !abandoned_; }
  /// Returns the number below which all epochs have run here.
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
  Bytes next_input_;  // input of the next session
  Decoder frames_;    // frames of this session to the agent
  std::uint32_t next_epoch_ = 0;
  bool abandoned_ = false;
};

}  // namespace ds::launcher
