// Index of known_hosts files: tells whether a key is the right one for a host. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// A public key in the form of known_hosts.
struct HostKey {
  std::string type;    // ssh-ed25519, ecdsa-sha2-nistp256, ssh-rsa
  std::string base64;  // the blob
  friend bool operator==(const HostKey&, const HostKey&) = default;
};

/// Returns `SHA256:...` as ssh prints it; empty if the base64 is broken.
std::string fingerprint(const HostKey& key);

/// Result of looking up a key that a host has shown.
struct HostKeyVerdict {
  enum class Kind {
    match,
    unknown,     // nothing is known of this host
    other_type,  // only keys of other types are known: `places` are theirs
    changed,     // another key of this type is known: `places` are theirs
    revoked      // the key is marked @revoked
  };
  Kind kind = Kind::unknown;
  std::vector<TextPlace> places;
  // Why the host is not trusted by its certificate, although known_hosts names an authority for it;
  // empty if there is no authority.
  std::string certificate_problem{};
};

struct HostCertificate;

/// Returns the name of a host in known_hosts: `host`, or `[host]:port` for a port other than 22;
/// lower case.
std::string known_hosts_name(std::string_view host, int port);

/// All known_hosts files of one run, parsed once.
/// Promise: broken lines are skipped, as ssh does.
class KnownHosts {
 public:
  void add(std::string_view text, const std::string& file_name);
  /// Adds a RevokedHostKeys file with one key a line. If it cannot be read (no text) or has another
  /// form (a KRL), no key is accepted any more, as with ssh.
  void add_revoked(const std::optional<std::string>& text, const std::string& file_name);

  /// Looks a key up. `host` is the name dialed (or HostKeyAlias), without brackets. A key of the
  /// plain name counts for other ports too if `[host]:port` is not known, as in ssh.
  [[nodiscard]] HostKeyVerdict check(std::string_view host, int port, const HostKey& key) const;

  /// Looks a certificate up, at `now` in seconds since 1970. Returns match if an authority of the
  /// host's name has signed it and it is valid for the host, or revoked. Else it returns check() of
  /// the key in it, with the problem.
  [[nodiscard]] HostKeyVerdict check_certificate(std::string_view host, int port,
                                                 const HostCertificate& certificate,
                                                 std::uint64_t now) const;

  /// Returns the lines that name an authority for certificates of the host.
  [[nodiscard]] std::vector<TextPlace> authorities(std::string_view host, int port) const;

  /// Returns the key types known for the host. The server is asked for one of them first.
  [[nodiscard]] std::vector<std::string> types(std::string_view host, int port) const;

 private:
  enum class Mark { none, revoked, authority };
  static std::optional<HostKey> revoked_key(const HostKey& shown);
  struct Entry {
    HostKey key;
    TextPlace place;
    Mark mark = Mark::none;
  };
  struct PatternEntry {
    std::vector<std::string> patterns;
    std::size_t entry = 0;
  };
  struct HashedEntry {
    std::string salt;
    std::string hash;
    std::size_t entry = 0;
  };

  void add_line(std::string_view line, const TextPlace& place);
  void index_names(std::string_view names, std::size_t entry);
  [[nodiscard]] const std::vector<std::size_t>& entries_of(const std::string& name) const;
  [[nodiscard]] std::vector<std::size_t> find_entries(const std::string& name) const;
  [[nodiscard]] HostKeyVerdict check_name(const std::string& name, const HostKey& key) const;
  [[nodiscard]] std::vector<const Entry*> authority_entries(std::string_view host, int port) const;
  /// Returns the line that revokes the key, for this host or for all.
  [[nodiscard]] std::optional<TextPlace> revocation(std::string_view host, int port,
                                                    const HostKey& key) const;

  std::vector<Entry> entries_;
  std::unordered_multimap<std::string, std::size_t> plain_;
  std::vector<PatternEntry> patterns_;
  std::vector<HashedEntry> hashed_;
  // Cached lookups: each host is looked up twice, and hashed lines make a lookup slow.
  mutable std::unordered_map<std::string, std::vector<std::size_t>> found_;
  std::unordered_map<std::string, TextPlace> revoked_;  // by the base64 of the key, for all hosts
  std::optional<TextPlace> all_revoked_;
};

/// Returns the HMAC-SHA1 of `name` under `salt`, as in hashed lines: 20 bytes.
std::string hash_host_name(std::string_view salt, std::string_view name);

/// Returns the line to append for a new key. With a `salt` (20 random bytes) the name is hashed.
std::string known_hosts_line(std::string_view host, int port, const HostKey& key,
                             std::string_view salt = {});

}  // namespace ds::launcher
