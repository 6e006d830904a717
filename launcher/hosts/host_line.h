// One line of a hostfile -> what it says, before hosts of several lines are put together. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/text_error.h"

namespace ds::launcher {

/// Slots that one host may have at most.
inline constexpr int kMaxSlots = 4096;

struct HostLine {
  std::vector<std::string> names;  // never empty; ranges are expanded, IPv6 has no brackets
  std::string user;
  int port = 0;
  std::optional<int> slots;  // empty: the line is bare
  std::size_t offset = 0;    // of the line's first word
};

/// Reads one line; empty for a blank line or a comment alone.
/// Errors:  Error{config} pointing at the word that is wrong.
std::optional<HostLine> parse_host_line(const SourceLine& line);

}  // namespace ds::launcher
