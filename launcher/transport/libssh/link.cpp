// Implements ssh_link.h: creates keyrings, links and jumps.
#include "launcher/transport/libssh/command.h"
#include "launcher/transport/libssh/jump.h"
#include "launcher/transport/libssh/keyring.h"
#include "launcher/transport/ssh/ssh_link.h"

namespace ds::launcher {

namespace {

using libssh::CommandSession;
using libssh::JumpSession;
using libssh::Keyring;

class Link final : public SshLink {
 public:
  explicit Link(std::shared_ptr<CommandSession> session) : session_(std::move(session)) {
    session_->start();
  }
  ~Link() override { session_->dismiss(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  void send(Bytes bytes) override { session_->send(std::move(bytes)); }
  [[nodiscard]] std::size_t unsent() const override { return session_->unsent(); }
  void copy_now() override { session_->copy_now(); }
  void close() override { session_->close(); }

 private:
  std::shared_ptr<CommandSession> session_;
};

class Jump final : public SshJump {
 public:
  explicit Jump(std::shared_ptr<JumpSession> session) : session_(std::move(session)) {
    session_->start();
  }
  ~Jump() override { session_->dismiss(); }
  Jump(const Jump&) = delete;
  Jump& operator=(const Jump&) = delete;
  void forward(const std::string& host, int port, std::function<void(Forwarded)> done) override {
    session_->forward(host, port, std::move(done));
  }
  [[nodiscard]] std::size_t forwards() const override { return session_->forwards(); }

 private:
  std::shared_ptr<JumpSession> session_;
};

}  // namespace

std::unique_ptr<SshKeyring> make_ssh_keyring() {
  ssh_init();  // a static libssh is not initialized on loading; calls are counted
  return std::make_unique<Keyring>();
}

std::unique_ptr<SshLink> make_ssh_link(asio::io_context& io, SshKeyring& keyring, SshLogin login,
                                       SshCommand command, SshLinkEvents events) {
  return std::make_unique<Link>(
      std::make_shared<CommandSession>(io, dynamic_cast<Keyring&>(keyring), std::move(login),
                                       std::move(command), std::move(events)));
}

std::unique_ptr<SshJump> make_ssh_jump(asio::io_context& io, SshKeyring& keyring, SshLogin login,
                                       SshJumpEvents events) {
  return std::make_unique<Jump>(std::make_shared<JumpSession>(io, dynamic_cast<Keyring&>(keyring),
                                                              std::move(login), std::move(events)));
}

}  // namespace ds::launcher
