// Looks certificates of hosts up: authorities that known_hosts trusts for a name, and revocations.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text_error.h"
#include "launcher/transport/host_keys/host_certificate.h"
#include "launcher/transport/host_keys/known_hosts.h"

namespace ds::launcher {

std::vector<const KnownHosts::Entry*> KnownHosts::authority_entries(std::string_view host,
                                                                    int port) const {
  std::vector<const Entry*> found;
  const auto collect = [&](const std::string& name) {
    for (const std::size_t index : entries_of(name))
      if (const Entry* entry = &entries_[index];
          entry->mark == Mark::authority && std::ranges::find(found, entry) == found.end())
        found.push_back(entry);
  };
  collect(known_hosts_name(host, port));
  if (port != 22) collect(known_hosts_name(host, 22));
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
