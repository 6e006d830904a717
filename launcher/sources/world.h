// Environment of a process as a value: variables, files, addresses. Finding nodes is pure over it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ds::launcher {

/// Text of a file, or the reason why it cannot be read.
struct FileText {
  std::optional<std::string> text{};
  std::string problem{};  // "No such file or directory"; empty if there is a text
  bool missing = false;   // the file does not exist
};

struct World {
  std::map<std::string, std::string> environment{};
  /// Reads a file. Never null, like list_folder.
  std::function<FileText(const std::string& path)> read_file;
  /// Returns the sorted names in a folder; empty if the folder does not exist.
  std::function<std::vector<std::string>(const std::string& path)> list_folder;
  std::string hostname{};                // from the kernel; may have a domain
  std::vector<std::string> addresses{};  // numeric addresses of the own interfaces

  /// Returns the value; nothing for a variable that is not set or empty.
  [[nodiscard]] std::optional<std::string> variable(const std::string& name) const;
};

/// Returns the environment of this process.
World this_world();

inline constexpr std::chrono::milliseconds kStableFor{200};
inline constexpr std::chrono::milliseconds kStableLimit{10'000};

/// Reads a file that is rewritten in place until two texts, kStableFor apart, are equal and not
/// empty. A missing or unreadable file is returned at once. After kStableLimit the result is empty
/// text if the file was always empty, else a problem: the file was never stable.
FileText read_when_stable(const std::function<FileText()>& read,
                          const std::function<void(std::chrono::milliseconds)>& sleep);

}  // namespace ds::launcher
