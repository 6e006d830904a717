// The texts of /etc/hosts and nsswitch.conf: what is known without asking a name server. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// The numeric addresses that a hosts file gives this name, as its lines follow each other. Case
/// and a trailing dot of the name mean nothing; lines without an address cost only themselves.
std::vector<std::string> find_in_hosts_file(std::string_view text, std::string_view name);

/// Whether the line `hosts:` of nsswitch.conf names a source besides files and dns (ldap, mdns,
/// myhostname, ...): only getaddrinfo can ask that one.
bool has_further_sources(std::string_view nsswitch_text);

/// Letters in lower case, without a trailing dot.
std::string plain_name(std::string_view name);

}  // namespace ds::launcher
