// One line of a hostfile -> what it says, before hosts of several lines are put together. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launcher/hosts/host_word.h"

namespace ds::launcher {

struct HostLine {
  bool excluded = false;           // ^host: these names are to be left out
  std::vector<std::string> names;  // never empty; ranges are expanded, IPv6 has no brackets
  std::string user;
  int port = 0;
  std::optional<int> slots;  // empty: the line is bare; kAutoSlots: what the host has
  std::optional<int> max_slots;
  std::vector<int> gpus;               // in the order written, each once
  std::vector<std::string> addresses;  // one a name, or none
  std::size_t offset = 0;              // of the line's first word
  [[nodiscard]] bool is_bare() const {
    return !slots && !max_slots && gpus.empty() && addresses.empty();
  }
};

/// `include FILE`.
struct IncludeLine {
  std::string path;
  std::size_t offset = 0;
};

using HostfileLine = std::variant<HostLine, IncludeLine>;

/// Reads one line, of which `code` is the same text with blanks for comments; empty for a line
/// without words.
/// Errors:  Error{config} pointing at the word that is wrong.
std::optional<HostfileLine> parse_host_line(const SourceLine& line, std::string_view code);

/// `text` with a blank for every byte of a comment; line ends stay. Comments start at a word that
/// starts with '#', '//' or '/*'.
/// Errors:  Error{config} when a comment that starts with '/*' does not end.
std::string blank_comments(std::string_view text, std::string_view file);

}  // namespace ds::launcher
