// Variable files: `--env-file FILE` and DeepSpeed's `.deepspeed_env`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Environment variable for the ranks, with the place where it was given.
struct NamedValue {
  std::string name;
  std::string value;
  std::string source;  // "~/.deepspeed_env:3", "-x"
  friend bool operator==(const NamedValue&, const NamedValue&) = default;
};

/// Parses `NAME=value` lines. Blank lines, comments, `export `, '...' and "..." work as in a shell.
/// Nothing is expanded. Pure.
/// Order:   as in the file.
/// Errors:  Error{config} pointing at the wrong text.
std::vector<NamedValue> parse_env_file(std::string_view text, std::string_view file_name);

struct EnvFile {
  std::vector<NamedValue> variables{};
  bool read_by_all = false;  // every user of this machine can read the file
};

/// Reads and parses a file that the user named. "-" is standard input.
/// Errors:  Error{config}, also when the file is world-writable.
EnvFile load_env_file(const std::string& path);

/// Reads a default file that the user did not name. Returns no variables if it does not exist.
/// Errors:  Error{config}, also when the file is world-writable or belongs to another user: whoever
///          can write it decides what the ranks run.
EnvFile load_default_env_file(const std::string& path);

/// Returns whether `name` consists of letters, digits and '_' and does not begin with a digit.
bool is_env_name(std::string_view name);
/// Returns whether `name` is a setting of dsrunner that users may set and forward: where its
/// libraries are and how they are used.
bool is_runner_setting(std::string_view name);
/// Returns whether dslaunch computes this variable for each rank. A value from the user would be
/// wrong.
bool is_reserved_variable(std::string_view name);

}  // namespace ds::launcher
