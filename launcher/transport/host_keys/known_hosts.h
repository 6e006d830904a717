// known_hosts text -> an index that answers, for one host and key, whether the key is the right
// one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// A public key as known_hosts and sshd spell it.
struct HostKey {
  std::string type;    // ssh-ed25519, ecdsa-sha2-nistp256, ssh-rsa
  std::string base64;  // the blob
  friend bool operator==(const HostKey&, const HostKey&) = default;
};

/// `SHA256:...` as ssh prints it; empty if the base64 is broken.
std::string fingerprint(const HostKey& key);

/// What known_hosts says of a key that a host has shown.
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
  // What stands in the way of trusting the host by its certificate, where known_hosts names an
  // authority for it; empty if it does not.
  std::string certificate_problem{};
};

struct HostCertificate;

/// Name of a host in known_hosts: `host`, or `[host]:port` for a port other than 22; lower case.
std::string known_hosts_name(std::string_view host, int port);

/// All known_hosts files of one run, parsed once.
/// Promise: broken lines are skipped and noted, as ssh does.
class KnownHosts {
 public:
  void add(std::string_view text, const std::string& file_name);
  /// A RevokedHostKeys file: a key a line. Without text (it cannot be read) or when it is in a form
  /// that is not understood (a KRL), no key is taken any more, as with ssh.
  void add_revoked(const std::optional<std::string>& text, const std::string& file_name);

  /// `host` is the name dialled (or HostKeyAlias), without brackets. A key known for the plain name
  /// counts for other ports too if nothing is known for `[host]:port`, as ssh has it.
  [[nodiscard]] HostKeyVerdict check(std::string_view host, int port, const HostKey& key) const;

  /// The same for a host that has shown a certificate, at `now` in seconds since 1970: match if an
  /// authority of its name has signed it and it stands for the host; revoked; else what check()
  /// says of the key in it, with the problem.
  [[nodiscard]] HostKeyVerdict check_certificate(std::string_view host, int port,
                                                 const HostCertificate& certificate,
                                                 std::uint64_t now) const;

  /// The lines with an authority for certificates of the host.
  [[nodiscard]] std::vector<TextPlace> authorities(std::string_view host, int port) const;

  /// Key types known for the host, so that the server is asked for one of them first.
  [[nodiscard]] std::vector<std::string> types(std::string_view host, int port) const;

  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

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
  void index_names(std::string_view names, std::size_t entry, const TextPlace& place);
  [[nodiscard]] const std::vector<std::size_t>& entries_of(const std::string& name) const;
  [[nodiscard]] std::vector<std::size_t> find_entries(const std::string& name) const;
  [[nodiscard]] HostKeyVerdict check_name(const std::string& name, const HostKey& key) const;
  [[nodiscard]] std::vector<const Entry*> authority_entries(std::string_view host, int port) const;
  /// The line that revokes the key for the host, or for all.
  [[nodiscard]] std::optional<TextPlace> revocation(std::string_view host, int port,
                                                    const HostKey& key) const;

  std::vector<Entry> entries_;
  std::unordered_multimap<std::string, std::size_t> plain_;
  std::vector<PatternEntry> patterns_;
  std::vector<HashedEntry> hashed_;
  std::vector<std::string> notes_;
  // Answers so far: a host is looked up twice, and hashed lines make a look-up dear.
  mutable std::unordered_map<std::string, std::vector<std::size_t>> found_;
  std::unordered_map<std::string, TextPlace> revoked_;  // base64 of keys, of whatever host
  std::optional<TextPlace> all_revoked_;
};

/// HMAC-SHA1 of `name` under `salt`, as hashed known_hosts lines hold it. 20 bytes.
std::string hash_host_name(std::string_view salt, std::string_view name);

/// A line to append for a new key; with a `salt` (20 random bytes) the name is hashed.
std::string known_hosts_line(std::string_view host, int port, const HostKey& key,
                             std::string_view salt = {});

/// The host key algorithms to offer to a server, the known key types first; a comma list.
/// `wanted` is HostKeyAlgorithms of ssh_config. With `certificates` those come first of all; the
/// plain algorithm of each is in the list too, because libssh compares signatures with it.
std::string host_key_algorithms(const std::vector<std::string>& known_types,
                                const std::string& wanted = {}, bool certificates = false);

/// Whether HostKeyAlgorithms, as `wanted` changes its default, lets a host show a key of this type
/// without a certificate.
bool takes_plain_key(const std::string& wanted, const std::string& type);

}  // namespace ds::launcher
