// The private folder of an agent: error files of its ranks, and a lock that shows that the agent
// lives.
#pragma once

#include <string>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/agent/cookie.h"

namespace ds::launcher {

/// Returns the folder of all agent folders of this user: $DSLAUNCH_RUNTIME_DIR, else
/// /tmp/dslaunch-UID.
std::string agent_folders_of_user();

/// BASE/agent-COOKIE, both with mode 0700, locked while the agent lives. An agent that ends well
/// removes its folder, so a folder without a lock belongs to an agent that was killed.
class AgentFolder {
 public:
  AgentFolder() = default;
  /// Makes and locks the folder. path() is empty if BASE is not private to this user or the system
  /// refuses.
  static AgentFolder make(const std::string& base, const Cookie& cookie);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns the path of the error file of a rank (TORCHELASTIC_ERROR_FILE).
  [[nodiscard]] std::string error_file(std::uint32_t epoch, std::int32_t rank) const;
  void remove();

 private:
  std::string path_;
  UniqueFd lock_;
};

/// Returns the first `limit` bytes of a file that a program has written; empty if there is no such
/// regular file. Never waits.
std::string read_written_file(const std::string& path, std::size_t limit);

/// Returns the cookies of all agent folders in `base`.
std::vector<Cookie> agent_folders(const std::string& base);
/// Returns the cookies of the folders in `base` that no agent holds.
std::vector<Cookie> abandoned_folders(const std::string& base);
void remove_abandoned_folder(const std::string& base, const Cookie& cookie);

}  // namespace ds::launcher
