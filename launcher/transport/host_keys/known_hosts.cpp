// Parses known_hosts, checks keys and certificates of hosts, and looks hosts up: plain names in a
// hash table, patterns and hashed names by a scan.
#include "launcher/transport/host_keys/known_hosts.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/split.h"
#include "engine/base/text_error.h"
#include "launcher/transport/host_keys/host_certificate.h"
#include "launcher/transport/host_keys/wire_reader.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

namespace {

std::string_view take_word(std::string_view& rest) {
  constexpr const char* kSpaces = " \t\r";
  rest.remove_prefix(std::min(rest.find_first_not_of(kSpaces), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kSpaces));
  rest.remove_prefix(word.size());
  return word;
}

}  // namespace

std::string known_hosts_name(std::string_view host, int port) {
  const std::string name = to_lower(host);
  return port == 22 ? name : fmt::format("[{}]:{}", name, port);
}

void KnownHosts::add(std::string_view text, const std::string& file_name) {
  found_.clear();
  for (TextPlace place{file_name, 1, 1}; !text.empty(); ++place.line)
    add_line(take_line(text), place);
}

void KnownHosts::add_line(std::string_view line, const TextPlace& place) {
  std::string_view names = take_word(line);
  if (names.empty() || names.front() == '#') return;
  Mark mark = Mark::none;
  if (names.front() == '@') {
    if (names != "@cert-authority" && names != "@revoked") return;
    mark = names == "@revoked" ? Mark::revoked : Mark::authority;
    names = take_word(line);
  }
  const std::string_view type = take_word(line);
  const std::string_view blob = take_word(line);
  if (type.empty() || blob.empty() || !base64_decode(blob)) return;
  HostKey key{std::string(type), std::string(blob)};
  if (mark == Mark::revoked) key = revoked_key(key).value_or(key);
  entries_.push_back({std::move(key), place, mark});
  index_names(names, entries_.size() - 1);
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
  for (std::string_view rest = *text; !rest.empty();) {
    std::string_view line = take_line(rest);
    ++place.line;
    const std::string_view type = take_word(line);
    if (type.empty() || type.front() == '#') continue;
    const auto key = revoked_key({std::string(type), std::string(take_word(line))});
    if (!key) {  // The line was meant to revoke some key, so none is accepted.
      all_revoked_ = place;
      return;
    }
    revoked_.emplace(key->base64, place);
  }
}

void KnownHosts::index_names(std::string_view names, std::size_t entry) {
  if (names.starts_with("|1|")) {
    const std::vector<std::string_view> parts = split(names, '|');  // "", "1", salt, hash
    if (parts.size() != 4) return;
    const auto salt = base64_decode(parts[2]);
    const auto hash = base64_decode(parts[3]);
    if (salt && hash && salt->size() == 20 && hash->size() == 20)
      hashed_.push_back({*salt, *hash, entry});
    return;
  }
  std::vector<std::string> list = split_patterns(names);
  if (names.find_first_of("*?!") != names.npos) {
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
  using Kind = HostKeyVerdict::Kind;
  HostKeyVerdict matching{Kind::match, {}, {}};
  HostKeyVerdict changed{Kind::changed, {}, {}};
  HostKeyVerdict other{Kind::other_type, {}, {}};
  for (const std::size_t index : entries_of(name)) {
    const auto& [known, place, mark] = entries_[index];
    if (mark == Mark::revoked && known == key) return {Kind::revoked, {place}, {}};
    if (mark != Mark::none) continue;  // an authority, or a line that revokes another key
    HostKeyVerdict& verdict = known == key ? matching : known.type == key.type ? changed : other;
    verdict.places.push_back(place);
  }
  for (HostKeyVerdict* verdict : {&matching, &changed, &other})
    if (!verdict->places.empty()) return std::move(*verdict);
  return {};
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
  for (const int at : {port, 22}) {
    for (const std::size_t index : entries_of(known_hosts_name(host, at))) {
      const Entry& entry = entries_[index];
      if (entry.mark == Mark::none && std::ranges::find(types, entry.key.type) == types.end())
        types.push_back(entry.key.type);
    }
    if (!types.empty()) break;
  }
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

std::vector<const KnownHosts::Entry*> KnownHosts::authority_entries(std::string_view host,
                                                                    int port) const {
  std::vector<const Entry*> found;
  for (const int at : {port, 22})
    for (const std::size_t index : entries_of(known_hosts_name(host, at)))
      if (const Entry* entry = &entries_[index];
          entry->mark == Mark::authority && std::ranges::find(found, entry) == found.end())
        found.push_back(entry);
  return found;
}

std::vector<TextPlace> KnownHosts::authorities(std::string_view host, int port) const {
  std::vector<TextPlace> places;
  for (const Entry* entry : authority_entries(host, port)) places.push_back(entry->place);
  return places;
}

std::optional<TextPlace> KnownHosts::revocation(std::string_view host, int port,
                                                const HostKey& key) const {
  // Authorities count from both names of the host (with and without port), so revocations do, too.
  for (const int at : {port, 22}) {
    const HostKeyVerdict verdict = check(host, at, key);
    if (verdict.kind == HostKeyVerdict::Kind::revoked) return verdict.places.front();
  }
  return std::nullopt;
}

HostKeyVerdict KnownHosts::check_certificate(std::string_view host, int port,
                                             const HostCertificate& certificate,
                                             std::uint64_t now) const {
  for (const HostKey* key : {&certificate.key, &certificate.authority})
    if (const auto place = revocation(host, port, *key))
      return {HostKeyVerdict::Kind::revoked, {*place}, {}};
  std::string problem =
      fmt::format("its certificate {} is of another authority, {}",
                  printable_text(certificate.id, 60), fingerprint(certificate.authority));
  for (const Entry* entry : authority_entries(host, port)) {
    if (entry->key != certificate.authority) continue;
    problem = certificate_problem(certificate, known_hosts_name(host, 22), now);
    if (problem.empty()) return {HostKeyVerdict::Kind::match, {entry->place}, {}};
    problem = fmt::format("its certificate {} is refused: {}", printable_text(certificate.id, 60),
                          problem);
    break;
  }
  HostKeyVerdict verdict = check(host, port, certificate.key);
  verdict.certificate_problem = std::move(problem);
  return verdict;
}

}  // namespace ds::launcher
