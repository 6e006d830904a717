// Which values are shown to nobody. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// What stands in place of a value.
inline constexpr std::string_view kRedacted = "***";

/// A name that tells of a secret: TOKEN, SECRET, PASSWORD, API_KEY and the like.
bool looks_secret(std::string_view name);

/// `looks_secret`, or one of `patterns` ('*' and '?' as in a shell) matches the name.
bool is_redacted(const std::string& name, const std::vector<std::string>& patterns);

/// The places in a command line whose bytes are values of `-x NAME=value`: word and first byte.
struct ArgvValue {
  int word = 0;
  std::size_t offset = 0;
  friend bool operator==(const ArgvValue&, const ArgvValue&) = default;
};
std::vector<ArgvValue> values_in_argv(int argc, const char* const* argv);

/// Overwrites the bytes up to the end of the word with asterisks and zeros.
void blank_value(char* value);
/// Overwrites all of them, so that other users do not see them in /proc. The words stay where they
/// are.
void blank_values(int argc, char** argv);

}  // namespace ds::launcher
