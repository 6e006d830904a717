// Parses host lists in the syntax of pdsh and clush (-w, -x, -g, WCOLL), with groups and the set
// operators of ClusterShell. Pure, except that a caller's reader gets the files and groups.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "launcher/groups/node_groups.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// Loads the files and groups that a list refers to.
struct ListReader {
  /// Returns the text of a file ("-": standard input).   Errors:  Error{config}.
  std::function<std::string(const std::string& path)> file;
  /// Returns the list of a group, as NodeGroups::find does.
  std::function<GroupNodes(const std::string& name, const std::string& within)> group;
};

/// Merges lists into one, in the order of the command line. A host is identified by its name and
/// port and appears once. An exclusion without a port excludes the host with every port. An
/// exclusion with a port also excludes the host without one.
/// Items are separated by commas, blanks or newlines outside brackets; `# ...` is a comment:
///   [user@]name[01-16,20][:port]   hosts        -ITEM   excludes them
///   ^FILE                          the items of a file
///   @GROUP                         the items of a group
///   -                              the items of standard input
/// Instead of a comma, `!`, `&` or `^` stand between items: what is before, from the left, without,
/// and with, or either but not both. `^` stands directly after an item. Operators apply to the
/// items of their own list, file or group.
class HostListParser {
 public:
  explicit HostListParser(ListReader reader) : reader_(std::move(reader)) {}

  /// Adds the hosts of `text`. `origin` is the option, variable or file that `text` is from.
  /// Errors:  Error{usage} for options, Error{config} for files or a host named with 2 users.
  void add(std::string_view text, const std::string& origin) {
    add_items(text, {.name = origin}, hosts_);
  }
  void exclude(std::string_view text, const std::string& origin) {
    HostSet excluded;
    add_items(text, {.name = origin}, excluded);
    exclude_all(excluded);
  }
  void add_group(const std::string& name, const std::string& origin) {
    add_group_items(name, {.name = origin}, hosts_);
  }
  void add_hosts(const std::vector<Host>& hosts) {
    for (const Host& host : hosts) add_host(host, {.name = "--hostfile"}, hosts_);
  }

  /// Returns the hosts that are not excluded.
  [[nodiscard]] std::vector<Host> hosts() const;

 private:
  struct Origin {
    std::string name;
    int depth = 0;  // nesting of files and groups
    /// Text of the file, for the lines in error messages.
    std::string_view lines{};
    std::string source{};  // of the group
  };
  struct HostSet {
    std::vector<Host> hosts{};
    std::unordered_map<std::string, std::size_t> known{};  // "name port" -> index in hosts
  };
  void add_items(std::string_view text, const Origin& origin, HostSet& into);
  void add_item(std::string_view item, const Origin& origin, HostSet& into);
  void add_names(std::string_view item, const Origin& origin, HostSet& into);
  void add_file_items(const std::string& path, const Origin& origin, HostSet& into);
  void add_group_items(const std::string& name, const Origin& origin, HostSet& into);
  void add_one_group(const std::string& name, const Origin& origin, HostSet& into);
  void add_host(Host host, const Origin& origin, HostSet& into);
  /// Keeps the hosts of `left` that satisfy the operator; `^` adds hosts of `right`.
  void combine(HostSet& left, char operation, const HostSet& right, const Origin& origin);
  void exclude_all(const HostSet& set);

  ListReader reader_;
  HostSet hosts_;
  std::unordered_set<std::string> excluded_;            // "name", "name port"
  std::unordered_set<std::string> excluded_somewhere_;  // names excluded with a port
};

/// Checks the user name that `option` gives.   Errors:  Error{usage}
void check_user(std::string_view user, std::string_view option);

}  // namespace ds::launcher
