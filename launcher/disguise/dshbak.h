// dshbak: groups lines `host: text`, as pdsh prints them, by host. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

struct DshbakWords {
  bool coalesce = false;              // -c
  std::optional<std::string> folder;  // -d
  bool make_folder = false;           // -f
  std::vector<std::string> files;     // read instead of standard input
};

/// Errors:  Error{usage} for unknown options, and for -c with -d.
DshbakWords read_dshbak(std::span<const std::string> words);

/// The lines of each host. Memory: that of its input.
class HostLines {
 public:
  /// Adds one line with its newline. Drops a line that has no host or no newline.
  void add(std::string_view line);
  /// Returns the text of each host, by name.
  [[nodiscard]] const std::map<std::string, std::string>& by_host() const { return texts_; }
  /// Returns the blocks with their headers, in the order of the number at the end of the names;
  /// `coalesce`: equal texts once, below all their hosts.
  [[nodiscard]] std::string text(bool coalesce) const;

 private:
  std::map<std::string, std::string> texts_;
};

/// Returns the names with ranges, as dshbak -c prints them: `foo[1-3,5]-ib,login`.
std::string dshbak_ranges(std::vector<std::string> names);

}  // namespace ds::launcher
