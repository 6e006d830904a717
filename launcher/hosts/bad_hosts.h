// Table of hosts that could not be used: hosts, stage, reason. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

struct BadHost {
  std::string name;
  std::string stage;   // stage that was reached, named as in transport.h; may be empty
  std::string reason;  // for messages; may begin with the name: `n1: refused`
};

/// Formats three columns with a header. Each line begins with `indent`; the last line has no
/// newline. Hosts with the same stage and reason share a line, folded by fold_names. Where their
/// reasons contain each host's own name or address, HOST or ADDRESS is shown instead; nothing where
/// it would stand alone between colons, because the first column names the hosts.
/// Order:   that of the first host with each reason.
/// Promise: every host is named; control bytes are shown as '?'.
std::string bad_hosts_table(const std::vector<BadHost>& hosts, std::string_view indent);

/// Formats one host in one line: `n1: refused (stage: connection)`.
std::string bad_host_line(const BadHost& host);

}  // namespace ds::launcher
