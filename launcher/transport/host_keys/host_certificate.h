// OpenSSH certificates: their fields, and whether one stands for a host. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/transport/host_keys/known_hosts.h"

namespace ds::launcher {

/// As PROTOCOL.certkeys of OpenSSH lays it out.
struct HostCertificate {
  HostKey key;  // the certified key, as it would be without the certificate
  std::uint64_t serial = 0;
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

/// Of a host or a user. Nothing for other types than ed25519, ecdsa and rsa, and for bytes that are
/// no certificate.
std::optional<HostCertificate> parse_host_certificate(const HostKey& shown);

/// Empty if it is valid at `now`, seconds since 1970.
std::string validity_problem(const HostCertificate& certificate, std::uint64_t now);

/// Why the certificate does not stand for the host `name` (without a port) at `now`, seconds since
/// 1970; empty if it does. Whether its authority is trusted is not asked here.
std::string certificate_problem(const HostCertificate& certificate, std::string_view name,
                                std::uint64_t now);

/// Whether `key` has made the signature, in ssh's form, of `text`. ed25519, ecdsa, rsa with SHA-2.
bool ssh_signature_holds(const HostKey& key, std::string_view text, std::string_view signature);

}  // namespace ds::launcher
