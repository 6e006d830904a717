// Files of variables: `--env-file FILE` and DeepSpeed's `.deepspeed_env`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// A variable for the ranks, and where it was given.
struct NamedValue {
  std::string name;
  std::string value;
  std::string source;  // "~/.deepspeed_env:3", "-x"
  friend bool operator==(const NamedValue&, const NamedValue&) = default;
};

/// Reads `NAME=value` lines: blank lines, comments, `export `, '...' and "..." as a shell has them.
/// Nothing is expanded. Pure.
/// Order:   that of the lines.
/// Errors:  Error{config} pointing at what is wrong.
std::vector<NamedValue> parse_env_file(std::string_view text, std::string_view file_name);

struct EnvFile {
  std::vector<NamedValue> variables{};
  bool read_by_all = false;  // by every user of this machine
};

/// Reads and parses a file that the user named. "-" is standard input.
/// Errors:  Error{config}, also when everybody may write it.
EnvFile load_env_file(const std::string& path);

/// Reads a file that nobody named, if it is there.
/// Errors:  Error{config}, also when everybody may write it or it belongs to somebody else: whoever
///          can write it decides what the ranks run.
EnvFile load_default_env_file(const std::string& path);

/// Letters, digits and '_', no digit first.
bool is_env_name(std::string_view name);
/// Of the runner, for people: where its libraries lie and how they are used. May travel.
bool is_runner_setting(std::string_view name);
/// A variable that dslaunch computes for each rank: a given value could only be wrong.
bool is_reserved_variable(std::string_view name);

}  // namespace ds::launcher
