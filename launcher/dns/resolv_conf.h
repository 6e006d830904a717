// The text of resolv.conf -> whom to ask and which domains to search. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

struct ResolvConf {
  std::vector<std::string> servers{};  // numeric, IPv6 with its %scope; at most 3, each once
  std::vector<std::string> search{};   // without a trailing dot
  int ndots = 1;                       // 0 to 15
  int timeout = 5;                     // seconds, 1 to 30
  int attempts = 2;                    // 1 to 5
  bool tcp_only = false;               // options use-vc
  friend bool operator==(const ResolvConf&, const ResolvConf&) = default;
};

/// As glibc reads it (man 5 resolv.conf): the last of `search` and `domain` counts, numbers out of
/// range are brought into it. Odd lines (CR LF, blanks in front, comments behind, words without a
/// meaning, addresses that are none) cost only themselves.
ResolvConf parse_resolv_conf(std::string_view text);

}  // namespace ds::launcher
