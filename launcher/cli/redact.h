// Redaction: decides which values are hidden, and overwrites them in argv.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Text shown instead of a hidden value.
inline constexpr std::string_view kRedacted = "***";

/// Returns whether a name suggests a secret: TOKEN, SECRET, PASSWORD, API_KEY and similar.
bool looks_secret(std::string_view name);

/// Returns whether `looks_secret(name)` holds or one of `patterns` (shell '*' and '?') matches.
bool is_redacted(const std::string& name, const std::vector<std::string>& patterns);

/// Place of a value of `-x NAME=value` on the command line: index of the word and first byte.
struct ArgvValue {
  int word = 0;
  std::size_t offset = 0;
  friend bool operator==(const ArgvValue&, const ArgvValue&) = default;
};
/// Returns the places of all values of -x.
std::vector<ArgvValue> values_in_argv(int argc, const char* const* argv);

/// Overwrites the text up to the end of the word with asterisks and zeros.
void blank_value(char* value);
/// Overwrites all values of -x so that other users do not see them in /proc. The words keep their
/// positions.
void blank_values(int argc, char** argv);

}  // namespace ds::launcher
