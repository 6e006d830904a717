// The key `deepspeed` of train.toml: entries from a DeepSpeed configuration, beside those of the
// file.
#pragma once

#include <string>
#include <vector>

#include "engine/config/entry.h"
#include "engine/deepspeed/convert.h"

namespace ds {

struct DeepSpeedFile {
  std::string path, text;
  DsConversion conversion;
  std::vector<Entry> defaults;  // train.toml may say otherwise
  std::vector<Entry> given;     // train.toml must agree
};

/// Reads and converts the file. Errors: Error{config}: a file that cannot be read, or everything
/// that cannot be converted, values out of their key's range included.
DeepSpeedFile read_deepspeed(const std::string& path, const DsContext& context);

/// Returns the entries of a train.toml followed by overrides, with the key `deepspeed` replaced by
/// the entries of the file that it names: defaults, the file's, the JSON's, overrides. Errors:
/// Error{config}: as read_deepspeed(); every key to which the two files give different values.
std::vector<Entry> with_deepspeed(std::vector<Entry> entries);

/// Returns a line about the keys of the JSON that were passed over; empty if there are none, or no
/// key `deepspeed`.
std::string deepspeed_note(const std::vector<Entry>& entries);

/// Returns the configuration as TOML, with a comment on the origin of each line.
std::string deepspeed_toml(const DeepSpeedFile& file);
/// Returns the same as JSON: {"settings": [...], "passed_over": [...]}.
std::string deepspeed_json(const DeepSpeedFile& file);
/// Returns the lines that say what was passed over, and why.
std::vector<std::string> passed_over(const DsConversion& conversion);

}  // namespace ds
