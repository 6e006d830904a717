// Configuration of name lookups on this machine: name servers and hosts file by c-ares, the search
// list and its use, nsswitch.conf.
#pragma once

#include <asio/ip/address.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

struct DnsConfig {
  std::vector<std::string> servers{};  // numeric addresses, in the order of the file
  std::vector<std::string> search{};   // domains
  int ndots = 1;
  bool tcp = false;  // "options use-vc"
};

/// Reads a resolv.conf (man 5 resolv.conf). Without a name server in it the server is 127.0.0.1, as
/// in glibc. The last of `search` and `domain` counts.
DnsConfig read_dns_config(const std::string& resolv_conf);

/// The most names that one lookup asks for.
inline constexpr std::size_t kMaxCandidates = 8;

/// Returns the full names to ask for, in order and without a trailing dot. Names that end with a
/// dot are asked as they are. Names with at least `ndots` dots are asked as they are before the
/// search list is applied, other names after it. Unlike in glibc and c-ares, a name that already
/// ends with a domain of the search list is asked only as it is: for
/// gpt-0.gpt.ns.svc.cluster.local this saves eight queries whose answer is always no.
/// At most kMaxCandidates, among them always the name itself.
std::vector<std::string> candidate_names(std::string_view name, const DnsConfig& config);

/// Returns the addresses that need no query: of a numeric address itself, of names in /etc/hosts
/// (or in the file that CARES_HOSTS names), and of localhost (RFC 6761).
std::vector<asio::ip::address> known_addresses(const std::string& name);

/// Returns whether the line `hosts:` of nsswitch.conf names a source other than files and dns
/// (ldap, mdns, myhostname, ...), which only getaddrinfo can ask. Pure.
bool has_further_sources(std::string_view nsswitch_text);

/// Returns the text of a file, at most 1 MiB of it; empty if it cannot be read.
std::string text_of(const std::string& path);

}  // namespace ds::launcher
