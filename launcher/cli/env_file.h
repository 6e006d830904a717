// Variables of users: files (`--env-file FILE` and DeepSpeed's `.deepspeed_env`), rules for names,
// and which values are hidden.
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

/// Text shown instead of a hidden value.
inline constexpr std::string_view kRedacted = "***";

/// Returns whether a name suggests a secret: TOKEN, SECRET, PASSWORD, API_KEY and similar.
bool looks_secret(std::string_view name);

/// Returns whether `looks_secret(name)` holds or one of `patterns` (shell '*' and '?') matches.
bool is_redacted(const std::string& name, const std::vector<std::string>& patterns);

/// Overwrites the text up to the end of the word with asterisks and zeros.
void blank_value(char* value);
/// Overwrites all values of -x so that other users do not see them in /proc. The words keep their
/// positions.
void blank_values(int argc, char** argv);

}  // namespace ds::launcher
