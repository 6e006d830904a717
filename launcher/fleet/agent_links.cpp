#include "launcher/fleet/agent_links.h"

#include <fmt/format.h>

#include <asio/post.hpp>
#include <utility>

#include "engine/base/error.h"

namespace ds::launcher {

using namespace std::chrono_literals;

namespace {

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const std::size_t newline = text.rfind('\n');
  return newline == std::string::npos ? text : text.substr(newline + 1);
}

}  // namespace

void NodeLink::open(Transport& transport, const Host& host) {
  channel_ = transport.open(
      host, {.on_bytes = [this](std::span<const std::byte> bytes) { on_bytes(bytes); },
             .on_noise =
                 [this](std::string_view text) {
                   noise_ += text;
                   if (noise_.size() > kNoiseKept) noise_.erase(0, noise_.size() - kNoiseKept);
                 },
             .on_end = [this](const ChannelEnd& end) { on_end(end); }});
}

void NodeLink::on_bytes(std::span<const std::byte> bytes) {
  if (closed_) return;
  events_.on_heard(agent_);
  decoder_.feed(bytes);
  while (!closed_) {
    std::optional<Frame> frame = decoder_.next();
    if (!frame) break;
    // An agent learns its envelope from the Spec: a Hello or a Problem may come without it.
    const bool ours = frame->envelope == envelope_ || frame->envelope == Envelope{};
    if (!ours) continue;
    talked_ = true;
    events_.on_message(agent_, frame->message);
  }
  if (closed_ || !decoder_.error()) return;
  const std::string why = decoder_.in_noise()
                              ? *decoder_.error()
                              : fmt::format("incompatible dslaunch there ({})", *decoder_.error());
  lose(fmt::format("{}: {}", host_name_, why), talked_ ? stage::kRunning : stage::kStart);
}

void NodeLink::on_end(const ChannelEnd& end) {
  if (closed_) return;
  std::string reason = end.reason;
  if (reason.empty()) reason = host_name_ + ": the agent exited unexpectedly";
  std::string said = last_line(noise_);
  if (said.empty() && !talked_) said = last_line(decoder_.noise());
  const bool reached = end.kind != ChannelEnd::Kind::unreachable;
  if (reached && !said.empty()) reason += fmt::format(" (it said: {})", said);
  lose(std::move(reason), end.stage);
}

void AgentLinks::open(int agent, const Host& host, const NodeRoute& route) {
  DS_ASSERT(agent == static_cast<int>(links_.size()));
  const Envelope envelope{
      .job = job_, .epoch = epoch_, .incarnation = static_cast<std::uint32_t>(agent) + 1};
  links_.push_back(std::make_unique<NodeLink>(agent, host.name, envelope, events_));
  links_.back()->open(*route.transport, host);
}

void AgentLinks::send(const std::vector<int>& agents, const Message& message) {
  if (agents.size() == 1) return send(agents.front(), message);
  const SharedFrame frame(message);
  for (const int agent : agents)
    if (NodeLink* open = link(agent)) open->send(frame);
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
  events_.stop_self();
  events_.on_continued();
}

}  // namespace ds::launcher
