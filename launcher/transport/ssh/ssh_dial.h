// Dials one host: from its name to a running remote command.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "launcher/transport/ssh/ssh_approach.h"
#include "launcher/transport/ssh/ssh_exchange.h"

namespace ds::launcher {

/// cancel() silences the events and closes the connection.
class SshDial : public std::enable_shared_from_this<SshDial> {
 public:
  SshDial(std::shared_ptr<SshExchange> exchange, Host host, ChannelEvents events)
      : exchange_(std::move(exchange)), host_(std::move(host)), events_(std::move(events)) {}
  SshDial(const SshDial&) = delete;
  SshDial& operator=(const SshDial&) = delete;
  ~SshDial() = default;

  /// Starts the dial when there is room in the window.
  void enqueue();
  void cancel();
  void send(Bytes bytes);
  [[nodiscard]] std::size_t unsent() const { return opened_ ? link_->unsent() : unsent_; }
  void close();
  [[nodiscard]] const std::string& peer_address() const { return peer_address_; }

 private:
  void start();
  void log_in(Reached reached);
  void opened();
  void failed(ChannelEnd end);
  void end(ChannelEnd end);
  void leave_window();
  void replaced(const std::string& found);
  void other_build(const std::string& found);
  void wait_for_copy();
  void leave_copies();
  void settle();
  [[nodiscard]] std::string shown_name() const;

  std::shared_ptr<SshExchange> exchange_;
  Host host_;
  ChannelEvents events_;
  SshRoute route_;
  std::unique_ptr<SshApproach> approach_;
  std::unique_ptr<SshLink> link_;  // its socket belongs to the approach
  std::string peer_address_;
  std::deque<Bytes> queue_;  // to be sent when the command runs
  std::size_t unsent_ = 0;
  bool in_window_ = false;
  bool copying_ = false;
  bool starting_ = true;  // neither answered nor ended
  bool replaced_ = false;
  bool opened_ = false;
  bool cancelled_ = false;
  bool ended_ = false;
  bool closing_ = false;
};

}  // namespace ds::launcher
