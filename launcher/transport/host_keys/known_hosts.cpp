// Parses known_hosts and looks hosts up: plain names in a hash table, patterns and hashed names by
// a scan.
#include "launcher/transport/host_keys/known_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/base/text_error.h"
#include "launcher/transport/host_keys/host_certificate.h"
#include "launcher/transport/host_keys/wire_reader.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view take_word(std::string_view& rest) {
  while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
  std::size_t end = 0;
  while (end < rest.size() && !is_space(rest[end])) ++end;
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::string known_hosts_name(std::string_view host, int port) {
  const std::string name = to_lower(host);
  return port == 22 ? name : fmt::format("[{}]:{}", name, port);
}

void KnownHosts::add(std::string_view text, const std::string& file_name) {
  found_.clear();
  TextPlace place{file_name, 0, 1};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ++place.line;
    add_line(text.substr(0, end), place);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

void KnownHosts::add_line(std::string_view line, const TextPlace& place) {
  std::string_view names = take_word(line);
  if (names.empty() || names.front() == '#') return;
  Mark mark = Mark::none;
  if (names.front() == '@') {
    if (names == "@cert-authority") mark = Mark::authority;
    if (names == "@revoked") mark = Mark::revoked;
    if (mark == Mark::none) {
      notes_.push_back(fmt::format("{}:{}: unknown marker {}; the line is left out", place.file,
                                   place.line, printable_text(names, 40)));
      return;
    }
    names = take_word(line);
  }
  const std::string_view type = take_word(line);
  const std::string_view blob = take_word(line);
  if (type.empty() || blob.empty() || !base64_decode(blob)) {
    notes_.push_back(
        fmt::format("{}:{}: not a host key line; it is left out", place.file, place.line));
    return;
  }
  HostKey key{std::string(type), std::string(blob)};
  if (mark == Mark::revoked) key = revoked_key(key).value_or(key);
  entries_.push_back({std::move(key), place, mark});
  index_names(names, entries_.size() - 1, place);
}

/// Returns the revoked key; for a certificate, the key in it. Nothing if the text is not a key, or
/// not of the type it says.
std::optional<HostKey> KnownHosts::revoked_key(const HostKey& shown) {
  const auto bytes = base64_decode(shown.base64);
  if (!bytes || WireReader(*bytes).string() != shown.type) return std::nullopt;
  if (!is_certificate_type(shown.type)) return HostKey{shown.type, base64_encode(*bytes)};
  const auto certificate = parse_host_certificate(shown);
  return certificate ? std::optional(certificate->key) : std::nullopt;
}

void KnownHosts::add_revoked(const std::optional<std::string>& text, const std::string& file_name) {
  TextPlace place{file_name, 0, 1};
  if (!text || text->starts_with("SSHKRL\n")) {
    all_revoked_ = place;
    return;
  }
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    ++place.line;
    const std::string_view type = take_word(line);
    if (!type.empty() && type.front() != '#') {
      const auto key = revoked_key({std::string(type), std::string(take_word(line))});
      if (!key) {  // The line was meant to revoke some key, so none is accepted.
        all_revoked_ = place;
        return;
      }
      revoked_.emplace(key->base64, place);
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
}

void KnownHosts::index_names(std::string_view names, std::size_t entry, const TextPlace& place) {
  if (names.starts_with("|1|")) {
    const std::size_t bar = names.find('|', 3);
    const auto salt = base64_decode(names.substr(3, bar == std::string_view::npos ? 0 : bar - 3));
    const auto hash =
        bar == std::string_view::npos ? std::nullopt : base64_decode(names.substr(bar + 1));
    if (salt && hash && salt->size() == 20 && hash->size() == 20)
      hashed_.push_back({*salt, *hash, entry});
    else
      notes_.push_back(
          fmt::format("{}:{}: broken hashed name; the line is left out", place.file, place.line));
    return;
  }
  std::vector<std::string> list = split_patterns(names);
  const bool has_pattern = std::ranges::any_of(
      list, [](const std::string& name) { return name.find_first_of("*?!") != std::string::npos; });
  if (has_pattern) {
    patterns_.push_back({std::move(list), entry});
  } else {
    for (const std::string& name : list) plain_.emplace(to_lower(name), entry);
  }
}

const std::vector<std::size_t>& KnownHosts::entries_of(const std::string& name) const {
  const auto [it, fresh] = found_.try_emplace(name);
  if (fresh) it->second = find_entries(name);
  return it->second;
}

std::vector<std::size_t> KnownHosts::find_entries(const std::string& name) const {
  std::vector<std::size_t> found;
  const auto [first, last] = plain_.equal_range(name);
  for (auto it = first; it != last; ++it) found.push_back(it->second);
  for (const PatternEntry& pattern : patterns_)
    if (ssh_pattern_list_matches(pattern.patterns, name)) found.push_back(pattern.entry);
  for (const HashedEntry& hashed : hashed_)
    if (hash_host_name(hashed.salt, name) == hashed.hash) found.push_back(hashed.entry);
  std::ranges::sort(found);
  return found;
}

HostKeyVerdict KnownHosts::check_name(const std::string& name, const HostKey& key) const {
  HostKeyVerdict matching{HostKeyVerdict::Kind::match, {}, {}};
  HostKeyVerdict changed{HostKeyVerdict::Kind::changed, {}, {}};
  HostKeyVerdict other{HostKeyVerdict::Kind::other_type, {}, {}};
  for (const std::size_t index : entries_of(name)) {
    const Entry& entry = entries_[index];
    if (entry.mark == Mark::authority) continue;
    if (entry.mark == Mark::revoked) {
      if (entry.key == key) return {HostKeyVerdict::Kind::revoked, {entry.place}, {}};
      continue;  // revokes another key of the host
    }
    if (entry.key == key)
      matching.places.push_back(entry.place);
    else
      (entry.key.type == key.type ? changed : other).places.push_back(entry.place);
  }
  if (!matching.places.empty()) return matching;
  if (!changed.places.empty()) return changed;
  if (!other.places.empty()) return other;
  return {HostKeyVerdict::Kind::unknown, {}, {}};
}

HostKeyVerdict KnownHosts::check(std::string_view host, int port, const HostKey& key) const {
  if (all_revoked_) return {HostKeyVerdict::Kind::revoked, {*all_revoked_}, {}};
  if (const auto found = revoked_.find(key.base64); found != revoked_.end())
    return {HostKeyVerdict::Kind::revoked, {found->second}, {}};
  HostKeyVerdict verdict = check_name(known_hosts_name(host, port), key);
  if (verdict.kind != HostKeyVerdict::Kind::unknown || port == 22) return verdict;
  const HostKeyVerdict plain = check_name(known_hosts_name(host, 22), key);
  const bool tells =
      plain.kind == HostKeyVerdict::Kind::match || plain.kind == HostKeyVerdict::Kind::revoked;
  return tells ? plain : verdict;
}

std::vector<std::string> KnownHosts::types(std::string_view host, int port) const {
  std::vector<std::string> types;
  const auto collect = [&](const std::string& name) {
    for (const std::size_t index : entries_of(name)) {
      const Entry& entry = entries_[index];
      if (entry.mark == Mark::none && std::ranges::find(types, entry.key.type) == types.end())
        types.push_back(entry.key.type);
    }
  };
  collect(known_hosts_name(host, port));
  if (types.empty() && port != 22) collect(known_hosts_name(host, 22));
  return types;
}

std::string known_hosts_line(std::string_view host, int port, const HostKey& key,
                             std::string_view salt) {
  const std::string name = known_hosts_name(host, port);
  const std::string shown = salt.empty() ? name
                                         : fmt::format("|1|{}|{}", base64_encode(salt),
                                                       base64_encode(hash_host_name(salt, name)));
  return fmt::format("{} {} {}\n", shown, key.type, key.base64);
}

namespace {

constexpr std::string_view kCertificateSuffix = "-cert-v01@openssh.com";

/// An RSA key can sign in two ways; the old way, ssh-rsa (SHA-1), is offered only on request.
const std::vector<std::string>& plain_algorithms() {
  static const std::vector<std::string> all = {"ssh-ed25519",         "ecdsa-sha2-nistp256",
                                               "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
                                               "rsa-sha2-512",        "rsa-sha2-256"};
  return all;
}

std::string_view key_type(std::string_view algorithm) {
  return algorithm.starts_with("rsa-sha2-") ? "ssh-rsa" : algorithm;
}

std::string joined(const std::vector<std::string>& names, std::string_view suffix = {}) {
  std::string list;
  for (const std::string& name : names)
    list.append(list.empty() ? "" : ",").append(name).append(suffix);
  return list;
}

/// The default as HostKeyAlgorithms changes it, either the certificates in it or the others.
std::vector<std::string> changed_algorithms(const std::string& wanted, bool certificates) {
  const std::string both =
      joined(plain_algorithms(), kCertificateSuffix) + "," + joined(plain_algorithms());
  std::vector<std::string> list = split_patterns(change_algorithms(both, wanted));
  std::erase_if(list, [&](const std::string& name) {
    return name.ends_with(kCertificateSuffix) != certificates;
  });
  return list;
}

}  // namespace

std::string host_key_algorithms(const std::vector<std::string>& known_types,
                                const std::string& wanted, std::string_view certified) {
  std::vector<std::string> list;
  for (const std::string& algorithm : plain_algorithms())
    if (key_type(algorithm) == certified) list.push_back(algorithm);
  const std::vector<std::string> all = changed_algorithms(wanted, false);
  for (const bool known : {true, false})  // in the order of `all`: the cheapest known type first
    for (const std::string& algorithm : all)
      if ((std::ranges::find(known_types, key_type(algorithm)) != known_types.end()) == known &&
          std::ranges::find(list, algorithm) == list.end())
        list.push_back(algorithm);
  return joined(list);
}

std::string certificate_algorithms(const std::string& wanted) {
  return joined(changed_algorithms(wanted, true));
}

bool takes_plain_key(const std::string& wanted, const std::string& type) {
  static const std::vector<std::string> kUnchanged = split_patterns(host_key_algorithms({}, ""));
  const std::vector<std::string> changed =
      wanted.empty() ? std::vector<std::string>() : split_patterns(host_key_algorithms({}, wanted));
  const std::vector<std::string>& taken = wanted.empty() ? kUnchanged : changed;
  return std::ranges::any_of(taken, [&](const std::string& algorithm) {
    return algorithm == type || (type == "ssh-rsa" && algorithm.starts_with("rsa-sha2-"));
  });
}

}  // namespace ds::launcher
