// Hostfile text -> hosts. Pure: no files are read and no names are looked up here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Where in a text something stands; line and column count from 1.
struct TextPlace {
  std::string file;
  int line = 0;
  int column = 0;
};

/// One address that can run ranks, as a hostfile line describes it.
struct Host {
  std::string name;  // as typed: a name, an alias of ~/.ssh/config, an IPv4 or IPv6 address
  std::string user;  // empty: ssh's default
  int port = 0;      // 0: ssh's default
  int slots = 1;     // ranks it may run
  TextPlace place;   // of the line that named it first
};

/// Reads the grammar of docs/hostfile.md: `host slots=N`, `host:N`, bare host = 1 slot, repeated
/// bare lines add up, ranges `node[01-16]`, `user@host`, `port=P`, `[v6]`, comments. Order:   the
/// order of the lines; ranges expand with the last bracket varying fastest. Errors:  Error{config}
/// whose message is `file:line:column: what` with the line and a caret below.
std::vector<Host> parse_hostfile(std::string_view text, std::string_view file_name);

}  // namespace ds::launcher
