// What the rest of the transport sees of libssh: makers of keyrings and links.
#include "launcher/transport/libssh/keyring.h"
#include "launcher/transport/libssh/session.h"
#include "launcher/transport/ssh_link.h"

namespace ds::launcher {

namespace {

using libssh::Keyring;
using libssh::Session;

class Link final : public SshLink {
 public:
  explicit Link(std::shared_ptr<Session> session) : session_(std::move(session)) {
    session_->start();
  }
  ~Link() override { session_->dismiss(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  void send(Bytes bytes) override { session_->send(std::move(bytes)); }
  [[nodiscard]] std::size_t unsent() const override { return session_->unsent(); }
  void pause_reading(bool pause) override { session_->pause(pause); }
  void close() override { session_->close(); }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace

std::unique_ptr<SshKeyring> make_ssh_keyring() {
  ssh_init();  // a static libssh is not set up by being loaded; counted, so once more does no harm
  return std::make_unique<Keyring>();
}

std::unique_ptr<SshLink> make_ssh_link(asio::io_context& io, SshKeyring& keyring,
                                       SshLinkSetup setup, SshLinkEvents events) {
  return std::make_unique<Link>(std::make_shared<Session>(io, dynamic_cast<Keyring&>(keyring),
                                                          std::move(setup), std::move(events)));
}

}  // namespace ds::launcher
