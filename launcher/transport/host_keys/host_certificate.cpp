#include "launcher/transport/host_keys/host_certificate.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "engine/base/text_error.h"
#include "launcher/transport/host_keys/wire_reader.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kSuffix = "-cert-v01@openssh.com";
constexpr std::uint64_t kHostType = 2;
constexpr std::size_t kMaxPrincipals = 256;  // as ssh
constexpr std::size_t kShownBytes = 60;

/// Returns how many fields a public key of this type has; 0 for an unknown type.
int key_fields(std::string_view type) {
  if (type == "ssh-ed25519") return 1;
  if (type == "ssh-rsa" || type.starts_with("ecdsa-sha2-nistp")) return 2;
  return 0;
}

std::string date(std::uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[32];
  if (seconds > 253'402'300'799U || ::gmtime_r(&time, &parts) == nullptr) return "the end of time";
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts)};
}

HostKey key_of(std::string_view blob) {
  WireReader reader(blob);
  return {std::string(reader.string()), base64_encode(blob)};
}

}  // namespace

bool is_certificate_type(std::string_view type) { return type.ends_with(kSuffix); }

std::optional<HostCertificate> parse_host_certificate(const HostKey& shown) {
  const auto bytes = base64_decode(shown.base64);
  if (!bytes) return std::nullopt;
  WireReader reader(*bytes);
  std::string_view type = reader.string();
  if (type != shown.type || !is_certificate_type(type)) return std::nullopt;
  type.remove_suffix(kSuffix.size());
  const int fields = key_fields(type);
  if (fields == 0) return std::nullopt;
  HostCertificate certificate;
  reader.string();  // the nonce
  std::string key = wire_string(type);
  for (int i = 0; i < fields; ++i) key += wire_string(reader.string());
  certificate.key = {std::string(type), base64_encode(key)};
  reader.number(8);  // the serial number
  certificate.for_host = reader.number(4) == kHostType;
  certificate.id = reader.string();
  WireReader principals(reader.string());
  while (!principals.rest().empty() && certificate.principals.size() <= kMaxPrincipals)
    certificate.principals.emplace_back(principals.string());
  certificate.valid_after = reader.number(8);
  certificate.valid_before = reader.number(8);
  certificate.has_critical_options = !reader.string().empty();
  reader.string();  // extensions: none are defined for hosts
  reader.string();  // reserved
  certificate.authority = key_of(reader.string());
  certificate.signed_part = bytes->substr(0, bytes->size() - reader.rest().size());
  certificate.signature = reader.string();
  if (!reader.done() || !principals.done()) return std::nullopt;
  return certificate;
}

std::string validity_problem(const HostCertificate& certificate, std::uint64_t now) {
  if (now < certificate.valid_after)
    return "it is not valid before " + date(certificate.valid_after);
  if (now >= certificate.valid_before)
    return "it was valid until " + date(certificate.valid_before);
  return {};
}

std::string certificate_problem(const HostCertificate& certificate, std::string_view name,
                                std::uint64_t now) {
  if (!certificate.for_host) return "it is a certificate of a user, not of a host";
  if (std::string problem = validity_problem(certificate, now); !problem.empty()) return problem;
  const auto& principals = certificate.principals;
  const bool named =
      principals.empty() || std::ranges::any_of(principals, [&](const std::string& pattern) {
        return ssh_pattern_matches(pattern, name);
      });
  if (!named) {
    const std::string list = fmt::format("{}", fmt::join(principals, ", "));
    return fmt::format("it is for {}, not for {}", printable_text(list, kShownBytes), name);
  }
  if (certificate.has_critical_options) return "it has critical options, and none are known";
  if (!ssh_signature_holds(certificate.authority, certificate.signed_part, certificate.signature))
    return "its signature does not hold";
  return {};
}

}  // namespace ds::launcher
