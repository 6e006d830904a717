// The channels of all agents of one launch: performs the actions of Fleet, and sends and receives
// frames.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/fleet/fleet_events.h"
#include "launcher/fleet/wake_timer.h"
#include "launcher/transport/transport.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Events of the channels of all agents.
struct LinkEvents {
  std::function<void(int agent)> on_heard;              // any bytes arrived
  std::function<void(int agent, Message&)> on_message;  // of this job, epoch and incarnation
  std::function<void(const AgentLost&)> on_lost;        // the last event of a channel
  std::function<void()> on_continued;                   // after stop_self()
  std::function<void()> stop_self{};                    // returns when this process may go on
};

/// The launcher's end of one channel.
class NodeLink {
 public:
  NodeLink(int agent, std::string host_name, Envelope envelope, const LinkEvents& events)
      : agent_(agent), host_name_(std::move(host_name)), envelope_(envelope), events_(events) {}
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  void open(Transport& transport, const Host& host);
  void send(const Message& message) {
    if (!is_open()) return;
    spoke_ = true;
    channel_->send(encode(envelope_, message));
  }
  void send(const SharedFrame& frame) {
    if (!is_open()) return;
    spoke_ = true;
    channel_->send(frame.header(envelope_));
    channel_->send_shared(frame.payload());
  }
  /// Sends a heartbeat, unless the agent has not sent a message yet (it gets an answer when it
  /// does) or was sent a frame since the last heartbeat. Never leaves out two in a row: clocks
  /// are compared by heartbeats.
  void beat(const Heartbeat& heartbeat) {
    if (!talked_) return;
    left_out_ = spoke_ && !left_out_;
    if (!left_out_) send(heartbeat);
    spoke_ = false;
  }
  /// Sends and accepts only frames of this epoch from now on.
  void enter_epoch(std::uint32_t epoch) { envelope_.epoch = epoch; }
  [[nodiscard]] std::size_t unsent() const { return channel_ ? channel_->unsent() : 0; }
  /// Returns the numeric address by which the node was reached; empty for this machine.
  [[nodiscard]] std::string peer_address() const {
    return channel_ ? channel_->peer_address() : std::string();
  }
  [[nodiscard]] bool is_open() const { return channel_ && !closed_; }
  /// Stops all events. The channel is destroyed with the link, never inside one of its own events.
  void close() { closed_ = true; }

 private:
  void on_bytes(std::span<const std::byte> bytes);
  void on_end(const ChannelEnd& end);
  void lose(std::string reason, std::string stage) {
    closed_ = true;
    events_.on_lost({agent_, std::move(reason), std::move(stage)});
  }

  int agent_;
  std::string host_name_;
  Envelope envelope_;
  const LinkEvents& events_;
  std::unique_ptr<Channel> channel_;
  Decoder decoder_{Decoder::Start::preamble};
  std::string noise_;  // the end of the remote side's standard error
  bool closed_ = false;
  bool talked_ = false;    // a message arrived
  bool spoke_ = false;     // since the last heartbeat was due
  bool left_out_ = false;  // the last heartbeat
};

/// How one node is reached.
struct NodeRoute {
  Transport* transport = nullptr;
  bool local = false;  // the agent is a child of this process and has its environment
};

/// Threads: the io_context's.
class AgentLinks {
 public:
  AgentLinks(asio::io_context& io, LinkEvents events)
      : io_(io), events_(std::move(events)), suspend_timer_(io) {}

  /// Sets the job in the frames of agents that are opened, or enter the epoch, from now on.
  void set_job(std::uint64_t job) { job_ = job; }
  void set_epoch(std::uint64_t epoch) { epoch_ = static_cast<std::uint32_t>(epoch); }

  /// Opens the channel of an agent; called in the order of agent numbers.
  void open(int agent, const Host& host, const NodeRoute& route);
  /// Puts the present epoch in every frame that is sent to the agent from now on.
  void enter_epoch(int agent) {
    if (NodeLink* open = link(agent)) open->enter_epoch(epoch_);
  }
  /// Sends a message to an agent; does nothing if its channel is not open.
  void send(int agent, const Message& message) {
    if (NodeLink* open = link(agent)) open->send(message);
  }
  /// Sends a message to several agents; its payload is in memory once.
  void send(const std::vector<int>& agents, const Message& message);
  /// Ignores everything that the agent sends from now on; CloseAgent follows.
  void silence(int agent) {
    if (NodeLink* open = link(agent)) open->close();
  }
  /// Returns the numeric address by which the agent was reached.
  [[nodiscard]] std::string peer_address(int agent) const {
    const NodeLink* open = link(agent);
    return open != nullptr ? open->peer_address() : std::string();
  }

  void perform(const StopAgent& action) {
    send(action.agent, Stop{static_cast<std::uint32_t>(action.grace.count())});
  }
  void perform(const KillAgent& action) { send(action.agent, Kill{}); }
  void perform(const DismissAgent& action);
  void perform(const CloseAgent& action);
  void perform(const SendHeartbeats&);
  void perform(const SuspendAgents&) { send_all(Suspend{}); }
  void perform(const SuspendSelf&);
  void perform(const ResumeAgents&) { send_all(Resume{}); }

 private:
  void send_all(const Message& message) {
    for (const auto& open : links_)
      if (open) open->send(message);
  }
  void stop_self(Clock::time_point latest);
  [[nodiscard]] NodeLink* link(int agent) const {
    const auto index = static_cast<std::size_t>(agent);
    return index < links_.size() ? links_[index].get() : nullptr;
  }

  asio::io_context& io_;
  LinkEvents events_;
  std::uint64_t job_ = 0;
  std::uint32_t epoch_ = 0;
  std::vector<std::unique_ptr<NodeLink>> links_;  // by agent; null once closed
  asio::steady_timer suspend_timer_;
  Life life_;
};

}  // namespace ds::launcher
