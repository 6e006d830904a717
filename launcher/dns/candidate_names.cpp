// The search list, shortened where it cannot help.
#include "launcher/dns/candidate_names.h"

#include <algorithm>

#include "launcher/dns/dns_packet.h"
#include "launcher/dns/hosts_file.h"

namespace ds::launcher {

std::vector<std::string> candidate_names(std::string_view name, std::span<const std::string> search,
                                         int ndots) {
  const bool full = name.ends_with('.');
  const std::string plain = plain_name(name);
  if (!is_dns_name(plain)) return {};
  const bool inside = std::any_of(search.begin(), search.end(), [&](const std::string& domain) {
    return plain.ends_with("." + plain_name(domain));
  });
  if (full || inside) return {plain};
  std::vector<std::string> names;
  for (const std::string& domain : search) {
    if (names.size() + 1 == kMaxCandidates) break;
    std::string candidate = plain + "." + plain_name(domain);
    if (is_dns_name(candidate) && std::find(names.begin(), names.end(), candidate) == names.end())
      names.push_back(std::move(candidate));
  }
  const bool first = std::count(plain.begin(), plain.end(), '.') >= ndots;
  names.insert(first ? names.begin() : names.end(), plain);
  return names;
}

}  // namespace ds::launcher
