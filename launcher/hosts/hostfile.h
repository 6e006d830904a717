// Hostfiles: the parser turns text into hosts and is pure; load_hostfile reads the files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Number of slots of a host with slots=auto: one per GPU, or one per core if it has no GPU.
inline constexpr int kAutoSlots = 0;

/// Place in a text; line and column count from 1.
struct TextPlace {
  std::string file{};
  int line = 0;
  int column = 0;
};

/// Address that can run ranks, as a hostfile line describes it.
struct Host {
  std::string name{};  // as typed: a name, an alias of ~/.ssh/config, an IPv4 or IPv6 address
  std::string user{};  // empty: ssh's default
  int port = 0;        // 0: ssh's default
  int slots = 1;       // number of ranks it may run, or kAutoSlots
  TextPlace place{};   // of the first line that names it
  bool bare = false;   // the number of slots was not given; it is 1
  int max_slots = 0;   // limit of ranks with --oversubscribe; 0: none
  /// Devices of its slots, if some were chosen: slot i is device devices[i].
  std::vector<int> devices{};
  std::string address{};     // dialed instead of the name
  std::vector<int> turns{};  // where the list names it, counted from 0; empty: not known
  /// Name that was resolved to `address` before the job; resolved again if the address does not
  /// answer.
  std::string found_by{};
};

/// File of an `include FILE` line.
struct IncludedText {
  std::string name;      // for messages
  std::string identity;  // equal for the same file under different names
  std::string text;
};
/// Reads the file `path` that is named in a line of the file `from`.
using IncludeReader = std::function<IncludedText(const std::string& path, const std::string& from)>;

/// Parses the grammar of docs/hostfile.md. `identity` is that of the file itself.
/// Order:   that of the lines; ranges expand with the last bracket varying fastest.
/// Errors:  Error{config} with the message `file:line:column: problem`, and the line with a caret
///          below it. Errors in an included file end with the places of the includes.
std::vector<Host> parse_hostfile(std::string_view text, std::string_view file_name,
                                 const IncludeReader& read_include = {},
                                 std::string_view identity = {});

/// Reads and parses the file; "-" reads standard input to its end.
/// Errors:  Error{config} if it is missing, not a file, not readable or larger than 16 MiB; errors
///          of parse_hostfile.
std::vector<Host> load_hostfile(const std::string& path);

}  // namespace ds::launcher
