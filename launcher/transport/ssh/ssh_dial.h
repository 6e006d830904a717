// One host's way from its name to a running remote command.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "launcher/transport/ssh/ssh_approach.h"
#include "launcher/transport/ssh/ssh_exchange.h"

namespace ds::launcher {

/// `cancel` silences it and closes its connection.
class SshDial : public std::enable_shared_from_this<SshDial> {
 public:
  SshDial(std::shared_ptr<SshExchange> exchange, Host host, ChannelEvents events)
      : exchange_(std::move(exchange)), host_(std::move(host)), events_(std::move(events)) {}
  SshDial(const SshDial&) = delete;
  SshDial& operator=(const SshDial&) = delete;
  ~SshDial() = default;

  /// Waits for its turn in the window.
  void enqueue();
  void cancel();
  void send(Bytes bytes);
  [[nodiscard]] std::size_t unsent() const { return opened_ ? link_->unsent() : unsent_; }
  void pause(bool pause);
  void close();
  [[nodiscard]] const std::string& peer_address() const { return peer_address_; }

 private:
  void start();
  void log_in(Reached reached);
  void opened();
  void failed(ChannelEnd end);
  void end(ChannelEnd end);
  void leave_window();
  void wait_for_copy();
  void leave_copies();
  [[nodiscard]] std::string shown_name() const;

  std::shared_ptr<SshExchange> exchange_;
  Host host_;
  ChannelEvents events_;
  SshRoute route_;
  std::unique_ptr<SshApproach> approach_;
  std::unique_ptr<SshLink> link_;  // before the approach: its socket's way lives there
  std::string peer_address_;
  std::deque<Bytes> queue_;  // sent before the command runs
  std::size_t unsent_ = 0;
  bool in_window_ = false;
  bool copying_ = false;
  bool opened_ = false;
  bool cancelled_ = false;
  bool ended_ = false;
  bool paused_ = false;
  bool closing_ = false;
};

}  // namespace ds::launcher
