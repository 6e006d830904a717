// The channels of all agents of one launch: performs the actions of Fleet and passes on the
// messages of agents.
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
#include "launcher/fleet/life.h"
#include "launcher/fleet/node_link.h"

namespace ds::launcher {

/// How one node is reached.
struct NodeRoute {
  Transport* transport = nullptr;
  bool local = false;  // the agent is a child of this process and has its environment
};

/// Threads: the io_context's.
class AgentLinks {
 public:
  struct Events {
    std::function<void(int agent)> on_heard;  // any bytes arrived
    std::function<void(int agent, Message&)> on_message;
    std::function<void(AgentLost)> on_lost;
    std::function<void()> on_continued;  // after SuspendSelf
  };

  AgentLinks(asio::io_context& io, Events events)
      : io_(io), events_(std::move(events)), suspend_timer_(io) {}

  /// Sets the job in the frames of agents that are opened, or enter the epoch, from now on.
  void set_job(std::uint64_t job, std::string cookie) { job_ = job, cookie_ = std::move(cookie); }
  void set_epoch(std::uint64_t epoch) { epoch_ = static_cast<std::uint32_t>(epoch); }

  /// Opens the channel of an agent; called in the order of agent numbers.
  void open(int agent, const Host& host, const NodeRoute& route);
  /// Puts the present epoch in every frame that is sent to the agent from now on.
  void enter_epoch(int agent);
  /// Sends a message to an agent; does nothing if its channel is not open.
  void send(int agent, const Message& message);
  void send_all(const Message& message);
  /// Ignores everything that the agent sends from now on; CloseAgent follows.
  void silence(int agent);
  /// Returns the numeric address by which the agent was reached.
  [[nodiscard]] std::string peer_address(int agent) const;

  void perform(const StopAgent& action);
  void perform(const KillAgent& action) { send(action.agent, Kill{}); }
  void perform(const SendSweep& action) { send(action.agent, Sweep{cookie_}); }
  void perform(const DismissAgent& action);
  void perform(const CloseAgent& action);
  void perform(const SendHeartbeats&);
  void perform(const SuspendAgents&) { send_all(Suspend{}); }
  void perform(const SuspendSelf&);
  void perform(const ResumeAgents&) { send_all(Resume{}); }

 private:
  void stop_self(Clock::time_point latest);
  [[nodiscard]] NodeLink* link(int agent) const;

  asio::io_context& io_;
  Events events_;
  std::uint64_t job_ = 0;
  std::string cookie_;
  std::uint32_t epoch_ = 0;
  std::vector<std::unique_ptr<NodeLink>> links_;  // by agent; null once closed
  asio::steady_timer suspend_timer_;
  Life life_;
};

}  // namespace ds::launcher
