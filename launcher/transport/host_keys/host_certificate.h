// Parses OpenSSH certificates and checks whether one is valid for a host. Pure.
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

}  // namespace ds::launcher
