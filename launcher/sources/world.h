// What a process can see of the place in which it runs, as values: finding nodes is pure over it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ds::launcher {

/// A file's text, or why there is none.
struct FileText {
  std::optional<std::string> text{};
  std::string problem{};  // "No such file or directory"; empty with a text
  bool missing = false;   // the problem is that nothing is there
};

struct World {
  std::map<std::string, std::string> environment{};
  /// Never empty as a function, as the next one.
  std::function<FileText(const std::string& path)> read_file;
  /// The names in a folder, sorted; none if there is no such folder.
  std::function<std::vector<std::string>(const std::string& path)> list_folder;
  std::string hostname{};                // as the kernel says it; may have a domain
  std::vector<std::string> addresses{};  // numeric, of the own interfaces

  /// Empty for a variable that is not set, or set to nothing.
  [[nodiscard]] std::optional<std::string> variable(const std::string& name) const;
};

/// The one that this process is in.
World this_world();

}  // namespace ds::launcher
