// Retries with jitter, within a budget.
#include "launcher/transport/ssh/ssh_approach.h"

#include <fmt/format.h>

namespace ds::launcher {

SshApproach::SshApproach(SshExchange& exchange, const SshSettings& settings,
                         std::span<const SshSettings> jumps, Events events)
    : exchange_(exchange),
      settings_(settings),
      jumps_(jumps),
      events_(std::move(events)),
      timer_(exchange.io) {}

void SshApproach::start() {
  begin_ = Clock::now();
  attempt();
}

void SshApproach::attempt() {
  way_ = find_way(exchange_, settings_, jumps_, [this](Reached reached) {
    if (reached.socket) return events_.on_socket(std::move(reached));
    ended({{ChannelEnd::Kind::unreachable, std::move(reached.problem), std::move(reached.stage)},
           reached.transient});
  });
}

void SshApproach::ended(SshLinkEnd end) {
  ++attempts_;
  if (end.end.kind != ChannelEnd::Kind::closed && way_) {
    const std::string trouble = way_->trouble();
    if (!trouble.empty()) end.end.reason += "; " + trouble;
    if (way_->hopeless()) end.transient = false;
  }
  const bool in_time = Clock::now() < begin_ + exchange_.options.retry_limit;
  if (!end.transient || attempts_ >= exchange_.options.max_attempts || !in_time) {
    if (attempts_ > 1 && end.end.kind != ChannelEnd::Kind::closed)
      end.end.reason += fmt::format(" ({} attempts)", attempts_);
    return events_.on_failed(std::move(end.end));
  }
  // A full MaxStartups drops connections at random: the others must be let through first.
  timer_.expires_after(exchange_.jitter(attempts_));
  timer_.async_wait([this, life = std::weak_ptr(life_)](const asio::error_code& error) {
    if (!error && !life.expired()) attempt();
  });
}

}  // namespace ds::launcher
