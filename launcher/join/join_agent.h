// Runs the agent of a joiner: one at a time; its bytes carry the number of a session.
#pragma once

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "launcher/join/join_records.h"
#include "launcher/transport/local_transport.h"
#include "launcher/transport/transport.h"

namespace ds::launcher {

/// Threads: the io_context's; records never come from inside a call.
class JoinAgent {
 public:
  /// `send` takes the records for the root: AgentBytes, and AgentClosed when the agent and all its
  /// processes have ended.
  JoinAgent(asio::io_context& io, std::string place, std::function<void(const JoinRecord&)> send)
      : io_(io),
        place_(std::move(place)),
        send_(std::move(send)),
        local_(make_local_transport(io)) {}

  /// Starts an agent, after the previous one has cleaned up.
  void start(std::uint32_t session) {
    if (channel_) {
      next_session_ = session;
      next_input_.clear();
      return;
    }
    session_ = session;
    frames_ = Decoder();
    Host host;
    host.name = place_;
    ChannelEvents events;
    events.on_bytes = [this](std::span<const std::byte> bytes) {
      if (!abandoned_) send_(AgentBytes{session_, bytes});
    };
    // A channel must not be destroyed inside its own event.
    events.on_end = [this](const ChannelEnd& end) {
      asio::post(io_, [this, reason = end.reason] { on_end(reason); });
    };
    channel_ = local_->open(host, std::move(events));
  }

  /// Passes frames of the root to the agent; drops frames of another session.
  void pass(std::uint32_t session, std::span<const std::byte> bytes) {
    if (next_session_ == session) {
      next_input_.insert(next_input_.end(), bytes.begin(), bytes.end());
      return;
    }
    if (!channel_ || abandoned_ || session != session_) return;
    channel_->send(Bytes(bytes.begin(), bytes.end()));
    frames_.feed(bytes);
    while (const auto frame = frames_.next())
      next_epoch_ = std::max(next_epoch_, frame->envelope.epoch + 1);
  }

  /// Ends the agent's input after the root's last frame.
  void end_input(std::uint32_t session) {
    if (next_session_ == session) {  // never started; sessions of two roots may have equal numbers
      next_session_.reset();
      asio::post(io_, [this, session] { send_(AgentClosed{session, {}}); });
    } else if (channel_ && session == session_) {
      channel_->close();
    }
  }

  /// Stops the ranks after the loss of the root; no more records are sent.
  void abandon() {
    next_session_.reset();
    if (!channel_) return;
    abandoned_ = true;
    channel_->close();
  }

  [[nodiscard]] bool running() const { return channel_ != nullptr; }
  /// Returns whether an agent of this root runs; its heartbeats then replace pings.
  [[nodiscard]] bool speaks() const { return running() && !abandoned_; }
  /// Returns the number below which all epochs have run here.
  [[nodiscard]] std::uint32_t next_epoch() const { return next_epoch_; }

 private:
  void on_end(const std::string& problem) {
    channel_.reset();
    if (!std::exchange(abandoned_, false)) send_(AgentClosed{session_, problem});
    const auto next = std::exchange(next_session_, std::nullopt);
    if (!next) return;
    start(*next);
    pass(*next, std::exchange(next_input_, {}));
  }

  asio::io_context& io_;
  std::string place_;
  std::function<void(const JoinRecord&)> send_;
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
