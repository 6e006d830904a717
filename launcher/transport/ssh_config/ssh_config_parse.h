// Splits a line of ssh_config into keyword and words. Pure; shared by the parser and its tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

struct ConfigLine {
  std::string keyword;  // lower case; empty for a blank line or a comment
  std::vector<std::string> words;
};

/// Splits `Keyword value "quoted value"`, also `Keyword=value`; a word that starts with # begins a
/// comment. Errors:  Error{config} for a quote that is not closed.
ConfigLine parse_config_line(std::string_view line, const TextPlace& place);

/// Throws Error{config} with the message `file:line: what`.
[[noreturn]] void config_error(const TextPlace& place, std::string_view what,
                               std::string hint = {});

}  // namespace ds::launcher
