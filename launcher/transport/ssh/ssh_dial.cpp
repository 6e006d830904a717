// Starts an approach, logs in on its sockets, and connects the command with the channel's owner.
#include "launcher/transport/ssh/ssh_dial.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"

namespace ds::launcher {

void SshDial::enqueue() {
  ++exchange_->starting;
  exchange_->logins->enqueue([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->cancelled_) return false;
    self->in_window_ = true;
    self->start();
    return true;
  });
}

void SshDial::start() {
  try {
    route_ = exchange_->route(host_);
  } catch (const Error& error) {
    return end(
        {ChannelEnd::Kind::unreachable,
         error.hint().empty() ? error.what() : fmt::format("{}; {}", error.what(), error.hint()),
         stage::kConfig});
  }
  // The approach lives in this dial and is silent once destroyed, so `this` outlives its events.
  approach_ = std::make_unique<SshApproach>(
      *exchange_, route_.target, route_.jumps,
      SshApproach::Events{.on_socket = [this](Reached reached) { log_in(std::move(reached)); },
                          .on_failed = [this](ChannelEnd end) { failed(std::move(end)); }});
  approach_->start();
}

void SshDial::log_in(Reached reached) {
  peer_address_ = std::move(reached.address);
  SshLinkEvents events;
  events.login = exchange_->login_events(route_.target, reached);
  events.on_open = [this] { opened(); };
  events.on_bytes = [this](std::span<const std::byte> bytes) {
    const auto keep = shared_from_this();  // the owner may destroy the channel
    events_.on_bytes(bytes);
  };
  events.on_noise = [this](std::string_view text) {
    const auto keep = shared_from_this();
    if (events_.on_noise) events_.on_noise(text);
  };
  events.on_end = [this](SshLinkEnd end) {
    leave_copies();  // another attempt queues again
    approach_->ended(std::move(end));
  };
  events.on_replaced = [this](const std::string& found) { replaced(found); };
  events.on_other_build = [this](const std::string& found) { other_build(found); };
  events.on_copy_wanted = [this] { wait_for_copy(); };
  events.on_answered = [this] {
    leave_copies();
    settle();
  };
  const SshOptions& options = exchange_->options;
  link_ =
      make_ssh_link(exchange_->io, *exchange_->keyring, exchange_->login(route_.target, reached),
                    {options.remote_command, options.fallback_command, options.answer,
                     options.build, [this] { return exchange_->agent_copy(); }},
                    std::move(events));
}

void SshDial::opened() {
  leave_window();
  opened_ = true;
  for (Bytes& bytes : queue_) link_->send(std::move(bytes));
  queue_.clear();
  if (closing_) link_->close();
}

void SshDial::replaced(const std::string& found) {
  replaced_ = true;
  const std::string text =
      found + "; this program is used from ~/.cache/dslaunch there (disable with --push never)";
  exchange_->warn_about(host_.name, {text, text});
}

void SshDial::other_build(const std::string& found) {
  const std::string text = found + "; it is used all the same";
  exchange_->warn_about(host_.name, {text, text});
}

void SshDial::wait_for_copy() {
  constexpr const char* kText =
      "no dslaunch there; copying this program to ~/.cache/dslaunch (disable with --push never)";
  if (!replaced_) exchange_->warn_about(host_.name, {kText, kText});
  exchange_->copies->enqueue([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->cancelled_ || self->ended_) return false;
    self->copying_ = true;
    self->link_->copy_now();
    return true;
  });
}

void SshDial::leave_copies() {
  if (std::exchange(copying_, false)) exchange_->copies->done();
}

void SshDial::send(Bytes bytes) {
  if (opened_) return link_->send(std::move(bytes));
  unsent_ += bytes.size();
  queue_.push_back(std::move(bytes));
}

void SshDial::close() {
  closing_ = true;
  if (opened_) link_->close();
}

void SshDial::cancel() {
  cancelled_ = true;
  link_.reset();
  approach_.reset();
  leave_window();
  leave_copies();
  settle();
}

void SshDial::failed(ChannelEnd end) {
  if (end.kind != ChannelEnd::Kind::closed)
    end.reason = fmt::format("{}: {}", shown_name(), end.reason);
  else
    end.reason.clear();
  this->end(std::move(end));
}

std::string SshDial::shown_name() const {
  const std::string& dialled = route_.target.host_name;
  return dialled == host_.name ? host_.name : fmt::format("{} ({})", host_.name, dialled);
}

void SshDial::end(ChannelEnd end) {
  leave_window();
  leave_copies();
  settle();
  if (std::exchange(ended_, true) || cancelled_) return;
  const auto keep = shared_from_this();
  events_.on_end(std::move(end));
}

void SshDial::leave_window() {
  if (std::exchange(in_window_, false)) exchange_->logins->done();
}

void SshDial::settle() {
  if (!std::exchange(starting_, false)) return;
  if (--exchange_->starting == 0) exchange_->print_warnings();
}

}  // namespace ds::launcher
