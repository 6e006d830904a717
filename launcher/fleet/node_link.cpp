// Sends and receives frames; turns every kind of end into one reason.
#include "launcher/fleet/node_link.h"

#include <fmt/format.h>

#include <utility>

namespace ds::launcher {

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

void NodeLink::send(const Message& message) {
  if (!is_open()) return;
  spoke_ = true;
  channel_->send(encode(envelope_, message));
}

void NodeLink::beat(const Heartbeat& heartbeat) {
  if (!talked_) return;
  left_out_ = spoke_ && !left_out_;
  if (!left_out_) send(heartbeat);
  spoke_ = false;
}

void NodeLink::on_bytes(std::span<const std::byte> bytes) {
  if (closed_) return;
  events_.on_heard();
  decoder_.feed(bytes);
  while (!closed_) {
    std::optional<Frame> frame = decoder_.next();
    if (!frame) break;
    // An agent learns its envelope from the Spec: a Hello or a Problem may come without it.
    const bool ours = frame->envelope == envelope_ || frame->envelope == Envelope{};
    if (!ours) continue;
    talked_ = true;
    events_.on_message(frame->message);
  }
  if (!closed_ && decoder_.error())
    lose(fmt::format("{}: incompatible dslaunch there ({})", host_name_, *decoder_.error()),
         talked_ ? stage::kRunning : stage::kStart);
}

void NodeLink::on_end(const ChannelEnd& end) {
  if (closed_) return;
  std::string reason = end.reason;
  if (reason.empty()) reason = host_name_ + ": the agent exited unexpectedly";
  std::string said = last_line(noise_);
  if (said.empty()) said = last_line(decoder_.noise());
  const bool reached = end.kind != ChannelEnd::Kind::unreachable;
  if (reached && !said.empty()) reason += fmt::format(" (it said: {})", said);
  lose(std::move(reason), end.stage);
}

void NodeLink::lose(std::string reason, std::string stage) {
  closed_ = true;
  events_.on_lost(std::move(reason), std::move(stage));
}

}  // namespace ds::launcher
