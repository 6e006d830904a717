// Lists of hosts as pdsh and clush take them: -w, -x, -g, WCOLL. Pure but for the reader given.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher::exec {

/// Where the parts of a list lie that are not in it.
struct ListReader {
  /// The text of a file ("-": standard input).   Errors:  Error{config}.
  std::function<std::string(const std::string& path)> file;
  /// The list that a group stands for; nothing if no such group is known.
  std::function<std::optional<std::string>(const std::string& name)> group;
};

/// Reads lists into one: each host once, in the order of the command line; a host is its name and
/// its port. What is left out by a name alone, or where no port is named, is left out with any.
/// Items are separated by commas, blanks or newlines, outside of brackets; `# ...` is a comment:
///   [user@]name[01-16,20][:port]   hosts        -ITEM   leaves them out
///   ^FILE                          the items of a file
///   @GROUP                         the items of a group
///   -                              the items of standard input
class HostListParser {
 public:
  explicit HostListParser(ListReader reader) : reader_(std::move(reader)) {}

  /// `origin` is the option, variable or file that `text` is from.
  /// Errors:  Error{usage} for what an option says, Error{config} for what a file says, or where
  /// a host is named for two users.
  void add(std::string_view text, const std::string& origin) {
    add_items(text, {.name = origin}, false);
  }
  void exclude(std::string_view text, const std::string& origin) {
    add_items(text, {.name = origin}, true);
  }
  void add_group(const std::string& name, const std::string& origin) {
    add_group_items(name, {.name = origin}, false);
  }
  void add_hosts(const std::vector<Host>& hosts);

  /// The hosts that are not left out.
  [[nodiscard]] std::vector<Host> hosts() const;

 private:
  struct Origin {
    std::string name;
    int depth = 0;  // files and groups inside of one another
    /// The whole text of a file, whose lines errors name.
    std::string_view lines{};
  };
  void add_items(std::string_view text, const Origin& origin, bool excluded);
  void add_item(std::string_view item, const Origin& origin, bool excluded);
  void add_names(std::string_view item, const Origin& origin, bool excluded);
  void add_file_items(const std::string& path, const Origin& origin, bool excluded);
  void add_group_items(const std::string& name, const Origin& origin, bool excluded);
  void add_host(Host host, const Origin& origin);
  void exclude_host(const std::string& name, int port);

  ListReader reader_;
  std::vector<Host> hosts_;
  std::unordered_map<std::string, std::size_t> known_;  // "name port" -> index in hosts_
  std::unordered_set<std::string> excluded_;            // "name", "name port"
  std::unordered_set<std::string> excluded_somewhere_;  // names that are left out with a port
};

/// Checks the name that `option` gives.   Errors:  Error{usage}
void check_user(std::string_view user, std::string_view option);

/// The nodes of /etc/genders text that have the attribute `name` or `name=value`, as a list;
/// nothing if none has.
std::optional<std::string> genders_group(std::string_view text, std::string_view name);

/// The list behind `name:` in the text of a clustershell groups file; nothing if it is not there.
std::optional<std::string> clush_group(std::string_view text, std::string_view name);

}  // namespace ds::launcher::exec
