// Lists of hosts as pdsh and clush take them: -w, -x, -g, WCOLL. Pure but for the reader given.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
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
/// its port.
/// Items are separated by commas, blanks or newlines, outside of brackets; `# ...` is a comment:
///   [user@]name[01-16,20][:port]   hosts        -ITEM   leaves them out
///   ^FILE                          the items of a file
///   @GROUP                         the items of a group
///   -                              the items of standard input
class HostListParser {
 public:
  explicit HostListParser(ListReader reader) : reader_(std::move(reader)) {}

  /// `origin` is the option, variable or file that `text` is from.
  /// Errors:  Error{usage} for what an option says, Error{config} for what a file says.
  void add(std::string_view text, const std::string& origin) {
    add_items(text, {origin, 0}, false);
  }
  void exclude(std::string_view text, const std::string& origin) {
    add_items(text, {origin, 0}, true);
  }
  void add_group(const std::string& name, const std::string& origin) {
    add_group_items(name, {origin, 0}, false);
  }
  void add_hosts(const std::vector<Host>& hosts);

  /// The hosts that are not left out.
  [[nodiscard]] std::vector<Host> hosts() const;

 private:
  struct Origin {
    std::string name;
    int depth = 0;  // files and groups inside of one another
  };
  void add_items(std::string_view text, const Origin& origin, bool excluded);
  void add_item(std::string_view item, const Origin& origin, bool excluded);
  void add_names(std::string_view item, const Origin& origin, bool excluded);
  void add_group_items(const std::string& name, const Origin& origin, bool excluded);
  void add_host(Host host);

  ListReader reader_;
  std::vector<Host> hosts_;
  std::unordered_set<std::string> known_;     // "name port"
  std::unordered_set<std::string> excluded_;  // names
};

/// The nodes of /etc/genders text that have the attribute `name` or `name=value`, as a list;
/// nothing if none has.
std::optional<std::string> genders_group(std::string_view text, std::string_view name);

/// The list behind `name:` in the text of a clustershell groups file; nothing if it is not there.
std::optional<std::string> clush_group(std::string_view text, std::string_view name);

}  // namespace ds::launcher::exec
