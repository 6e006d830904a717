// Node groups: finds the nodes of a group in the files of dsh, in genders and in the sources of
// ClusterShell (docs/exec.md, Groups). Pure over GroupWorld.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/groups/genders.h"
#include "launcher/groups/group_files.h"

namespace ds::launcher {

/// Result of a command of groups.conf.
struct UpcallResult {
  int code = 0;
  bool in_time = true;
  std::string out{};
};

/// What NodeGroups reads.
struct GroupWorld {
  std::function<std::string(const char* name)> variable;  // empty: not set
  /// Returns the text of a file; nothing if it cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> file;
  /// Returns the names of the files of a folder, sorted; empty if it cannot be read.
  std::function<std::vector<std::string>(const std::string& folder)> files_of;
  /// Runs a shell command in a folder, with a deadline.
  std::function<UpcallResult(const std::string& command, const std::string& folder)> run;
};

/// The nodes of a group as a host list.
struct GroupNodes {
  std::string list{};
  std::string source{};  // where groups without a source in `list` are looked up first
};

/// A group is `NAME`, `SOURCE:NAME`, `*` or `SOURCE:*`. The first source that knows a name without
/// a source has it:  1. a dsh file NAME in a folder of DSHGROUP_PATH, in ~/.dsh/group or in
/// /etc/dsh/group;  2. the attribute NAME, or NAME=VALUE, in genders;  3. the default source of
/// ClusterShell. `SOURCE:` is a source of ClusterShell, or `dsh` or `genders`.
class NodeGroups {
 public:
  explicit NodeGroups(GroupWorld world) : world_(std::move(world)) {}

  /// `within`: the source of the list that names the group; empty: none.
  /// Errors:  Error{config}: an unknown group or source, with similar names; a malformed file; a
  ///          command of groups.conf that failed or did not end in time.
  GroupNodes find(std::string_view name, const std::string& within = {});

  /// Uses another genders file.
  void set_genders(std::string path) {
    genders_path_ = std::move(path);
    genders_.reset();
  }
  /// Returns the genders database; null if there is none.
  const Genders* genders();

 private:
  struct Source {
    std::map<std::string, std::string> commands{};               // map, all, list
    std::optional<std::map<std::string, std::string>> groups{};  // of a YAML file
    std::string file{};                                          // that defines it
    std::string folder{};                                        // in which commands run
  };
  std::optional<std::string> dsh_list(const std::string& name);
  [[nodiscard]] std::vector<std::string> dsh_folders() const;
  std::optional<std::string> genders_list(const std::string& name);
  void load_sources();
  void load_plain_file(const std::vector<std::string>& folders);
  void add_sources(const ConfSections& sections, const std::string& file,
                   const std::string& folder);
  std::optional<std::string> source_list(const std::string& source, const std::string& name);
  std::string all_of(const std::string& name, const Source& source);
  std::vector<std::string> groups_of(const std::string& name, const Source& source);
  std::string run(const std::string& name, const Source& source, const std::string& what,
                  const std::string& group);
  [[noreturn]] void unknown(const std::string& source, const std::string& name);

  GroupWorld world_;
  std::string genders_path_;
  std::optional<std::optional<Genders>> genders_;
  bool loaded_ = false;
  std::map<std::string, Source> sources_;
  std::string default_;
  std::map<std::string, std::string> results_;  // of commands that have run
};

}  // namespace ds::launcher
