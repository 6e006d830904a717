// Parser for one line of a hostfile, before lines are combined into hosts. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launcher/hosts/host_word.h"

namespace ds::launcher {

struct HostLine {
  bool excluded = false;           // ^host: these names are left out
  std::vector<std::string> names;  // never empty; ranges are expanded, IPv6 has no brackets
  std::string user;
  int port = 0;
  std::optional<int> slots;  // empty: not given; kAutoSlots: to be found on the host
  std::optional<int> max_slots;
  std::vector<int> gpus;               // in the written order, each once
  std::vector<std::string> addresses;  // one per name, or none
  std::size_t offset = 0;              // byte of the line's first word
  [[nodiscard]] bool is_bare() const {
    return !slots && !max_slots && gpus.empty() && addresses.empty();
  }
};

/// Line `include FILE`.
struct IncludeLine {
  std::string path;
  std::size_t offset = 0;
};

using HostfileLine = std::variant<HostLine, IncludeLine>;

/// Parses one line. `code` is the same text with blanks in place of comments. Returns nothing for a
/// line without words. Errors:  Error{config} pointing at the wrong word.
std::optional<HostfileLine> parse_host_line(const SourceLine& line, std::string_view code);

}  // namespace ds::launcher
