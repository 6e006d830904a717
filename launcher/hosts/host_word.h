// Pieces of text that name hosts, wherever they stand: in a hostfile, in --host, in --include.
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/text_error.h"

namespace ds::launcher {

/// Slots that one host may have at most.
inline constexpr int kMaxSlots = 4096;

/// A piece of a line, and the byte at which it stands.
struct Word {
  std::string_view text;
  std::size_t offset = 0;
  /// The part from byte `at` on, of at most `count` bytes.
  [[nodiscard]] Word part(std::size_t at, std::size_t count = std::string_view::npos) const {
    return {text.substr(at, count), offset + at};
  }
};

/// `[user@]expression[:suffix]`.
struct HostWord {
  std::vector<std::string> names;  // never empty; ranges are expanded, IPv6 has no brackets
  std::optional<Word> user;
  std::optional<Word> suffix;  // what stands behind ':'
};

// Errors of all below:  Error{config} pointing at what is wrong.

/// Reads one host expression; the suffix is not looked at.
HostWord read_host_word(const SourceLine& line, Word word);
/// The expression alone: names with ranges, or an IPv6 address in brackets.
std::vector<std::string> read_host_names(const SourceLine& line, Word word);

/// A whole number from 0 to `most`.
int read_number(const SourceLine& line, Word word, std::string_view what, int most);
/// `0,2-3`: numbers from 0 to `most` in the order written, repeated ones too.
std::vector<int> read_number_list(const SourceLine& line, Word word, std::string_view what,
                                  int most);
/// A user name with the characters that ssh allows.
std::string read_user(const SourceLine& line, Word word);
/// An IPv4 or IPv6 address, the latter with or without brackets; empty if it is none.
std::string read_address(std::string_view text);

/// 'text', cut when it is long.
std::string quoted(std::string_view text);

}  // namespace ds::launcher
