#include "launcher/transport/host_keys/host_certificate.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

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

namespace {

// Message numbers of RFC 4250, 4.1.2, and RFC 5656, 7.1.
constexpr char kDisconnect = 1;
constexpr char kIgnore = 2;
constexpr char kDebug = 4;
constexpr char kLists = 20;
constexpr char kExchangeInit = 30;
constexpr char kExchangeReply = 31;
constexpr std::size_t kMaxPacket = 256 * 1024;  // as OpenSSH
constexpr std::size_t kMaxGreeting = 64 * 1024;
constexpr std::string_view kVersion = "SSH-2.0-dslaunch\r\n";

struct KeyExchange {
  std::string_view name;
  std::string public_value;
};

/// Key exchanges, each with a public value that every server accepts. They are constants (base
/// points, a small number), because nobody reads what the exchange would protect.
const std::vector<KeyExchange>& exchanges() {
  static const std::string x25519 = '\x09' + std::string(31, '\0');
  static const std::string p256 = "\x04" + *base64_decode(
                                               "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/"
                                               "hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==");
  static const std::string number(8, '\x7f');  // at least 4 bits set, as OpenSSH wants
  static const std::vector<KeyExchange> all = {{"curve25519-sha256", x25519},
                                               {"curve25519-sha256@libssh.org", x25519},
                                               {"ecdh-sha2-nistp256", p256},
                                               {"diffie-hellman-group14-sha256", number},
                                               {"diffie-hellman-group16-sha512", number},
                                               {"diffie-hellman-group18-sha512", number}};
  return all;
}

/// A packet without encryption: length, padding to a multiple of 8 bytes (RFC 4253, 6).
std::string ssh_packet(std::string_view payload) {
  const std::size_t padding = 4 + (8 - (payload.size() + 5 + 4) % 8) % 8;
  std::string body(1, static_cast<char>(padding));
  body.append(payload).append(padding, '\0');
  return wire_string(body);
}

std::string lists_payload(std::string_view algorithms) {
  constexpr std::string_view kCiphers =
      "aes128-gcm@openssh.com,aes256-gcm@openssh.com,aes128-ctr,aes256-ctr,"
      "chacha20-poly1305@openssh.com";
  constexpr std::string_view kMacs =
      "hmac-sha2-256,hmac-sha2-512,hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com";
  constexpr std::string_view kCompressions = "none,zlib@openssh.com";
  std::string payload(1, kLists);
  payload.append(16, '\0');  // the cookie is random only for the sake of the secret
  std::string key_exchanges;
  for (const KeyExchange& one : exchanges())
    key_exchanges.append(key_exchanges.empty() ? "" : ",").append(one.name);
  for (const std::string_view list :
       {std::string_view(key_exchanges), algorithms, kCiphers, kCiphers, kMacs, kMacs,
        kCompressions, kCompressions, std::string_view(), std::string_view()})
    payload += wire_string(list);
  return payload.append(5, '\0');  // no guessed packet follows; reserved
}

}  // namespace

std::string CertificateRequest::greeting() {
  return std::string(kVersion) + ssh_packet(lists_payload(algorithms_));
}

std::string CertificateRequest::take(std::string_view bytes) {
  received_.append(bytes);
  std::string out;
  if (!greeted_ && !take_greeting()) return out;
  while (!done_) {
    const std::optional<std::string> payload = next_payload();
    if (!payload) break;
    out += answer(*payload);
  }
  return out;
}

/// Skips lines until the server's version (RFC 4253, 4.2). False while more is needed.
bool CertificateRequest::take_greeting() {
  while (!done_) {
    const std::size_t end = received_.find('\n');
    if (end == std::string::npos) {
      if (received_.size() > kMaxGreeting) fail("it does not speak SSH");
      return false;
    }
    greeted_ = received_.starts_with("SSH-");
    received_.erase(0, end + 1);
    if (greeted_) return true;
  }
  return false;
}

/// The next message, without its padding; nothing while it is incomplete.
std::optional<std::string> CertificateRequest::next_payload() {
  if (received_.size() < 5) return std::nullopt;
  WireReader head(received_);
  const std::size_t size = head.number(4);
  const std::size_t padding = head.number(1);
  if (size < padding + 2 || size > kMaxPacket) {
    fail("it sent a packet that is not of SSH");
    return std::nullopt;
  }
  if (received_.size() < 4 + size) return std::nullopt;
  std::string payload = received_.substr(5, size - padding - 1);
  received_.erase(0, 4 + size);
  return payload;
}

std::string CertificateRequest::answer(std::string_view payload) {
  switch (payload.front()) {
    case kIgnore:
    case kDebug:
      return {};
    case kLists:
      return answer_lists(payload);
    case kExchangeReply: {
      const std::string shown(WireReader(payload.substr(1)).string());
      const std::string type(WireReader(shown).string());
      if (is_certificate_type(type)) certificate_ = {type, base64_encode(shown)};
      done_ = true;
      return {};
    }
    case kDisconnect: {
      WireReader reader(payload.substr(1));
      reader.number(4);
      fail("the server says: " + printable_text(reader.string(), 200));
      return {};
    }
    default:
      fail("it sent an unexpected message");
      return {};
  }
}

/// Asks for the key if the server has a certificate, and ends if it has none.
std::string CertificateRequest::answer_lists(std::string_view payload) {
  WireReader reader(payload.substr(std::min<std::size_t>(17, payload.size())));
  const std::vector<std::string> key_exchanges = split_patterns(reader.string());
  const std::vector<std::string> host_keys = split_patterns(reader.string());
  const auto has = [](const std::vector<std::string>& list, std::string_view name) {
    return std::ranges::find(list, name) != list.end();
  };
  const std::vector<std::string> wanted = split_patterns(algorithms_);
  if (std::ranges::none_of(wanted, [&](const auto& name) { return has(host_keys, name); })) {
    done_ = true;
    return {};
  }
  const auto common = std::ranges::find_if(
      exchanges(), [&](const KeyExchange& one) { return has(key_exchanges, one.name); });
  if (common == exchanges().end()) {
    fail("it has no key exchange in common with this program");
    return {};
  }
  return ssh_packet(std::string(1, kExchangeInit) + wire_string(common->public_value));
}

void CertificateRequest::fail(std::string problem) {
  problem_ = std::move(problem);
  done_ = true;
}

}  // namespace ds::launcher
