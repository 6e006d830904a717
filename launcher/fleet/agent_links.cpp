#include "launcher/fleet/agent_links.h"

#include <unistd.h>

#include <asio/post.hpp>
#include <csignal>
#include <utility>

#include "engine/base/error.h"

namespace ds::launcher {

using namespace std::chrono_literals;

NodeLink* AgentLinks::link(int agent) const {
  const auto index = static_cast<std::size_t>(agent);
  return index < links_.size() ? links_[index].get() : nullptr;
}

void AgentLinks::open(int agent, const Host& host, const NodeRoute& route) {
  DS_ASSERT(agent == static_cast<int>(links_.size()));
  links_.push_back(std::make_unique<NodeLink>(
      host.name,
      Envelope{.job = job_, .epoch = epoch_, .incarnation = static_cast<std::uint32_t>(agent) + 1},
      NodeLink::Events{
          .on_heard = [this, agent] { events_.on_heard(agent); },
          .on_message = [this, agent](Message& message) { events_.on_message(agent, message); },
          .on_lost =
              [this, agent](std::string reason, std::string stage) {
                events_.on_lost({agent, std::move(reason), std::move(stage)});
              }}));
  links_.back()->open(*route.transport, host);
}

void AgentLinks::enter_epoch(int agent) {
  if (NodeLink* open = link(agent)) open->enter_epoch(epoch_);
}

void AgentLinks::send(int agent, const Message& message) {
  if (NodeLink* open = link(agent)) open->send(message);
}

void AgentLinks::send_all(const Message& message) {
  for (const auto& open : links_)
    if (open) open->send(message);
}

void AgentLinks::silence(int agent) {
  if (NodeLink* open = link(agent)) open->close();
}

std::string AgentLinks::peer_address(int agent) const {
  const NodeLink* open = link(agent);
  return open != nullptr ? open->peer_address() : std::string();
}

void AgentLinks::perform(const StopAgent& action) {
  send(action.agent, Stop{static_cast<std::uint32_t>(action.grace.count())});
}

void AgentLinks::perform(const DismissAgent& action) {
  // The agent takes a Kill of the epoch that it has cleared for a late one and ignores it.
  if (NodeLink* open = link(action.agent)) open->enter_epoch(epoch_ + 1);
  send(action.agent, Kill{});
}

void AgentLinks::perform(const CloseAgent& action) {
  silence(action.agent);
  // The caller may be inside an event of this link.
  asio::post(io_, [gone = std::shared_ptr<NodeLink>(
                       std::move(links_[static_cast<std::size_t>(action.agent)]))]() mutable {
    gone.reset();
  });
}

void AgentLinks::perform(const SendHeartbeats&) {
  const Heartbeat beat{.sent = clock_value(Clock::now())};
  for (const auto& open : links_)
    if (open) open->beat(beat);
}

void AgentLinks::perform(const SuspendSelf&) {
  asio::post(io_, life_.guard([this] { stop_self(Clock::now() + 500ms); }));
}

/// Suspends this process after the ranks: a suspended process sends nothing.
void AgentLinks::stop_self(Clock::time_point latest) {
  bool sent = true;
  for (const auto& open : links_) sent = sent && (!open || open->unsent() == 0);
  if (!sent && Clock::now() < latest) {
    suspend_timer_.expires_after(2ms);
    suspend_timer_.async_wait(life_.guard([this, latest](const asio::error_code& error) {
      if (!error) stop_self(latest);
    }));
    return;
  }
  ::kill(::getpid(), SIGSTOP);
  events_.on_continued();
}

}  // namespace ds::launcher
