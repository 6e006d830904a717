// Parses TOML text and command-line overrides into entries. The only user of toml++.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/config/entry.h"

namespace ds {

/// Returns the entries of `text` in the order of the file; tables become dotted keys.
/// Errors: Error{config} with the place for anything that is not TOML.
std::vector<Entry> read_toml(std::string_view text, const std::string& source,
                             const std::string& base_dir);

/// Parses one `KEY=VALUE`. The value is TOML; a bare word is a string.
/// Errors: Error{usage} naming the override by its number (from 1).
Entry read_override(std::string_view assignment, int number, const std::string& base_dir);

}  // namespace ds
