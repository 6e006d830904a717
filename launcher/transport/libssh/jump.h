// Session with a jump host that carries many channels at once.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "launcher/transport/libssh/forward.h"
#include "launcher/transport/libssh/session.h"

namespace ds::launcher::libssh {

class JumpSession final : public Session {
 public:
  JumpSession(asio::io_context& io, Keyring& keyring, SshLogin login, SshJumpEvents events)
      : Session(io, keyring, std::move(login), std::move(events.login)),
        events_(std::move(events)) {}
  JumpSession(const JumpSession&) = delete;
  JumpSession& operator=(const JumpSession&) = delete;
  ~JumpSession() override { release(); }

  void forward(const std::string& host, int port, std::function<void(Forwarded)> done);
  [[nodiscard]] std::size_t forwards() const { return forwards_.size(); }

 private:
  void begin() override { told_up_ = false; }
  bool proceed() override;
  void deliver() override;
  void deliver_end(const SshLinkEnd& end) override { events_.on_end(end); }
  void let_go() override;
  void attend_all();

  SshJumpEvents events_;
  std::set<std::shared_ptr<Forward>> forwards_;
  std::set<std::shared_ptr<Forward>> attend_;      // for the next turn of the event loop
  std::vector<std::shared_ptr<Forward>> answers_;  // with an answer to deliver
  unsigned int last_number_ = 42;                  // libssh starts counting here
  bool told_up_ = true;
};

}  // namespace ds::launcher::libssh
