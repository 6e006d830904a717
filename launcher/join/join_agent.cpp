#include "launcher/join/join_agent.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "launcher/transport/local_transport.h"

namespace ds::launcher {

JoinAgent::JoinAgent(asio::io_context& io, std::string place, JoinAgentEvents events)
    : io_(io),
      place_(std::move(place)),
      events_(std::move(events)),
      local_(make_local_transport(io)) {}

void JoinAgent::start(std::uint32_t session) {
  if (channel_) {
    next_session_ = session;
    next_input_.clear();
    return;
  }
  session_ = session;
  frames_ = Decoder();
  Host host;
  host.name = place_;
  channel_ =
      local_->open(host, {.on_bytes =
                              [this](std::span<const std::byte> bytes) {
                                if (!abandoned_) events_.on_bytes(session_, bytes);
                              },
                          .on_noise = {},
                          // A channel must not be destroyed inside its own event.
                          .on_end =
                              [this](const ChannelEnd& end) {
                                asio::post(io_, [this, reason = end.reason] { on_end(reason); });
                              }});
}

void JoinAgent::pass(std::uint32_t session, std::span<const std::byte> bytes) {
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

void JoinAgent::end_input(std::uint32_t session) {
  if (next_session_ == session) {  // never started; sessions of two roots may have equal numbers
    next_session_.reset();
    asio::post(io_, [this, session] { events_.on_closed(session, {}); });
  } else if (channel_ && session == session_) {
    channel_->close();
  }
}

void JoinAgent::abandon() {
  next_session_.reset();
  if (!channel_) return;
  abandoned_ = true;
  channel_->close();
}

void JoinAgent::on_end(const std::string& problem) {
  channel_.reset();
  if (!std::exchange(abandoned_, false)) events_.on_closed(session_, problem);
  const auto next = std::exchange(next_session_, std::nullopt);
  if (!next) return;
  start(*next);
  pass(*next, std::exchange(next_input_, {}));
}

}  // namespace ds::launcher
