// Asks an SSH server for its host certificate, as `ssh-keyscan -c` does. Pure: bytes in, bytes out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/transport/host_keys/known_hosts.h"

namespace ds::launcher {

/// The client's side of a connection up to the message that shows the host key (RFC 4253, 7 and 8).
/// libssh 0.10 takes certificates out of its list of host key algorithms, so it cannot ask itself.
/// The connection proves nothing and must be closed then: a certificate is public, and its
/// authority's signature makes it valid. The session that follows proves that the server has the
/// certified key.
class CertificateRequest {
 public:
  /// `algorithms` is a comma list of certificate algorithms, the preferred one first.
  explicit CertificateRequest(std::string algorithms) : algorithms_(std::move(algorithms)) {}

  /// The first bytes to send.
  std::string greeting();
  /// Takes bytes of the server; returns bytes to send, possibly none.
  std::string take(std::string_view bytes);

  [[nodiscard]] bool done() const { return done_; }
  /// The certificate, once done; nothing if the server has none of these algorithms.
  [[nodiscard]] const std::optional<HostKey>& certificate() const { return certificate_; }
  /// Why the server's answer cannot be used; empty if it can.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  bool take_greeting();
  std::optional<std::string> next_payload();
  std::string answer(std::string_view payload);
  std::string answer_lists(std::string_view payload);
  void fail(std::string problem);

  std::string algorithms_;
  std::string received_;
  bool greeted_ = false;
  bool done_ = false;
  std::optional<HostKey> certificate_;
  std::string problem_;
};

}  // namespace ds::launcher
