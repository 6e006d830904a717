// A private folder of one agent on its node: its ranks' error files, and the sign that it lives.
#pragma once

#include <string>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/agent/cookie.h"

namespace ds::launcher {

/// Where the folders of all agents of this user lie: $DSLAUNCH_RUNTIME_DIR, else /tmp/dslaunch-UID.
std::string agent_folders_of_user();

/// BASE/agent-COOKIE, both with mode 0700, locked while the agent lives. An agent that ends well
/// removes its folder: one that is there and not locked tells of an agent that did not.
class AgentFolder {
 public:
  AgentFolder() = default;
  /// Empty (path() too) if BASE belongs to somebody else or the system refuses.
  static AgentFolder make(const std::string& base, const Cookie& cookie);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Where rank `rank` may write why it fails.
  [[nodiscard]] std::string error_file(std::uint32_t epoch, std::int32_t rank) const;
  void remove();

 private:
  std::string path_;
  UniqueFd lock_;
};

/// The first `limit` bytes of a file that some program has written; empty if there is none, or if
/// it is not a plain file. Never waits.
std::string read_written_file(const std::string& path, std::size_t limit);

/// Cookies of the folders in `base` that no agent holds.
std::vector<Cookie> abandoned_folders(const std::string& base);
void remove_abandoned_folder(const std::string& base, const Cookie& cookie);

}  // namespace ds::launcher
