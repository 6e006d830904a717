// Hosts that could not be used -> one table for people: hosts, stage, reason. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

struct BadHost {
  std::string name;
  std::string stage;   // how far it got, as transport.h names stages; may be empty
  std::string reason;  // for people; may begin with the name, as `n1: refused` does
};

/// Three columns under a headline, each line behind `indent`, without a newline at the end. Hosts
/// of one stage and reason share a line, folded by fold_names; where a reason names each host
/// itself or its address, it is shown with {host} or {addr} in that place. Order:   that in which
/// the reasons first come. Promise: every host is named; control bytes are shown as '?'.
std::string bad_hosts_table(const std::vector<BadHost>& hosts, std::string_view indent);

/// One host in one line, with its name: `n1: refused (stage: connection)`.
std::string bad_host_line(const BadHost& host);

}  // namespace ds::launcher
