// Certificates of OpenSSH: asks a server for its own, as `ssh-keyscan -c` does, parses them and
// checks whether one is valid for a host. Pure: bytes in, bytes out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/transport/host_keys/known_hosts.h"

namespace ds::launcher {

/// The fields of a certificate (PROTOCOL.certkeys of OpenSSH).
struct HostCertificate {
  HostKey key;  // the certified key, as it would be without the certificate
  bool for_host = false;
  std::string id;
  std::vector<std::string> principals;  // names or patterns; none: any host
  std::uint64_t valid_after = 0;        // seconds since 1970
  std::uint64_t valid_before = 0;
  bool has_critical_options = false;
  HostKey authority;
  std::string signed_part;
  std::string signature;  // in ssh's form: algorithm and blob
};

/// `ssh-ed25519-cert-v01@openssh.com` and its like.
bool is_certificate_type(std::string_view type);

/// Parses a certificate of a host or a user. Returns nothing for other types than ed25519, ecdsa
/// and rsa, and for bytes that are not a certificate.
std::optional<HostCertificate> parse_host_certificate(const HostKey& shown);

/// Returns why it is not valid at `now`, seconds since 1970; empty if it is.
std::string validity_problem(const HostCertificate& certificate, std::uint64_t now);

/// Returns why the certificate is not valid for the host `name` (without a port) at `now`, seconds
/// since 1970; empty if it is. Does not check whether its authority is trusted.
std::string certificate_problem(const HostCertificate& certificate, std::string_view name,
                                std::uint64_t now);

/// Whether `signature`, in ssh's form, is one of `text` by `key`: ed25519, ecdsa, or rsa with
/// SHA-2.
bool ssh_signature_holds(const HostKey& key, std::string_view text, std::string_view signature);

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
