// Parsers for words that name hosts, in a hostfile, in --host and in --include. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/text_error.h"

namespace ds::launcher {

/// Maximum number of slots of one host.
inline constexpr int kMaxSlots = 4096;

/// Part of a line, with the byte at which it stands.
struct Word {
  std::string_view text;
  std::size_t offset = 0;
  /// Returns the part from byte `at` on, of at most `count` bytes.
  [[nodiscard]] Word part(std::size_t at, std::size_t count = std::string_view::npos) const {
    return {text.substr(at, count), offset + at};
  }
};

/// Splits `text` at each byte of `separators` outside [] and {}. Returns empty words too.
std::vector<Word> split_outside_brackets(std::string_view text, std::string_view separators);

/// Host expression `[user@]expression[:suffix]`.
struct HostWord {
  std::vector<std::string> names;  // never empty; ranges are expanded, IPv6 has no brackets
  std::optional<Word> user;
  std::optional<Word> suffix;  // text after ':'
};

// Errors of all parsers below:  Error{config} pointing at the wrong text.

/// Parses one host expression; the suffix is not checked.
HostWord read_host_word(const SourceLine& line, Word word);

/// Parses an integer from 0 to `most`.
int read_number(const SourceLine& line, Word word, std::string_view what, int most);
/// Parses `0,2-3`: integers from 0 to `most` in the written order; repetitions are kept.
std::vector<int> read_number_list(const SourceLine& line, Word word, std::string_view what,
                                  int most);
/// Parses a user name of characters that ssh allows.
std::string read_user(const SourceLine& line, Word word);
/// Returns an IPv4 or IPv6 address without brackets; empty if `text` is not an address.
std::string read_address(std::string_view text);

/// Returns whether the text has only characters of host names and addresses, and a possible length.
bool may_be_host_name(std::string_view text);

/// Returns 'text' in quotes, cut if it is long.
std::string quoted(std::string_view text);

}  // namespace ds::launcher
