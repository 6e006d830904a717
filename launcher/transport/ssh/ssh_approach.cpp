// Opens a socket for each attempt, and retries with jitter, within a limit.
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
  way_ = find_way(exchange_, settings_, jumps_,
                  [this](Reached reached) { this->reached(std::move(reached)); });
}

/// A host behind an authority is asked for its certificate first, on a connection of its own.
void SshApproach::reached(Reached reached) {
  if (!reached.socket)
    return ended(
        {{ChannelEnd::Kind::unreachable, std::move(reached.problem), std::move(reached.stage)},
         reached.transient});
  if (!certificate_) {
    std::string algorithms = exchange_.certificates_to_ask_for(settings_);
    if (!algorithms.empty()) {
      certificate_connection_ = fetch_certificate(
          exchange_.io, std::move(reached.socket), std::move(algorithms),
          exchange_.options.limits.handshake,
          [this](FetchedCertificate fetched) { this->fetched(std::move(fetched)); });
      return;
    }
    certificate_.emplace();
  }
  reached.certificate = *certificate_;
  events_.on_socket(std::move(reached));
}

void SshApproach::fetched(FetchedCertificate fetched) {
  certificate_connection_.reset();
  if (!fetched.problem.empty())
    return ended({{ChannelEnd::Kind::unreachable,
                   "its host certificate cannot be read: " + fetched.problem, stage::kKeyExchange},
                  fetched.transient});
  certificate_ = std::move(fetched.certificate);
  attempt();
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
  // A server at its MaxStartups drops connections at random; the other ones need time to log in.
  timer_.expires_after(exchange_.jitter(attempts_));
  timer_.async_wait([this, life = std::weak_ptr(life_)](const asio::error_code& error) {
    if (!error && !life.expired()) attempt();
  });
}

}  // namespace ds::launcher
