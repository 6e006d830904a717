// Hostfile text -> hosts. Pure: no files are read and no names are looked up here.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Slots of a host that is to run as many ranks as it has GPUs, or cores if it has none.
inline constexpr int kAutoSlots = 0;

/// Where in a text something stands; line and column count from 1.
struct TextPlace {
  std::string file{};
  int line = 0;
  int column = 0;
};

/// One address that can run ranks, as a hostfile line describes it.
struct Host {
  std::string name{};  // as typed: a name, an alias of ~/.ssh/config, an IPv4 or IPv6 address
  std::string user{};  // empty: ssh's default
  int port = 0;        // 0: ssh's default
  int slots = 1;       // ranks it may run, or kAutoSlots
  TextPlace place{};   // of the line that named it first
  bool bare = false;   // nobody said how many slots; it is 1
  int max_slots = 0;   // ranks that --oversubscribe may reach; 0: any number
  /// The devices of its slots, when some were chosen: slot i is device devices[i].
  std::vector<int> devices{};
  std::string address{};  // dialled instead of the name
  /// The name by which `address` was found before the job: looked up anew when it does not answer.
  std::string found_by{};
};

/// What `include FILE` leads to.
struct IncludedText {
  std::string name;      // for messages
  std::string identity;  // equal for equal files, however they are named
  std::string text;
};
/// Reads the file that `path` names in a line of the file called `from`.
using IncludeReader = std::function<IncludedText(const std::string& path, const std::string& from)>;

/// Reads the grammar of docs/hostfile.md. `identity` is the one of the file itself.
/// Order:   the order of the lines; ranges expand with the last bracket varying fastest.
/// Errors:  Error{config} whose message is `file:line:column: what` with the line and a caret
///          below; those of an included file end with the places of its includes.
std::vector<Host> parse_hostfile(std::string_view text, std::string_view file_name,
                                 const IncludeReader& read_include = {},
                                 std::string_view identity = {});

}  // namespace ds::launcher
