// Cookies and folders, which mark agents and their processes; finds and kills by them what jobs
// whose agents did not end well have left on this node.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/unique_fd.h"

namespace ds::launcher {

/// Every process of a job has a cookie in this variable.
inline constexpr const char* kCookieVariable = "DSLAUNCH_COOKIE";

/// Names the agent that started a process: JOB.PID.START, with the agent's pid and its start time
/// (field 22 of /proc/PID/stat).
struct Cookie {
  std::string job{};
  pid_t agent = 0;
  std::uint64_t start = 0;

  [[nodiscard]] std::string text() const;
  /// Returns nothing if `text` is not a cookie.
  static std::optional<Cookie> parse(std::string_view text);
  friend bool operator==(const Cookie&, const Cookie&) = default;
};

/// Returns the cookie in the content of /proc/PID/environ.
std::optional<Cookie> cookie_in_environment(std::string_view environ_text);

/// Returns the folder of all agent folders of this user: $DSLAUNCH_RUNTIME_DIR, else
/// /tmp/dslaunch-UID.
std::string agent_folders_of_user();

/// BASE/agent-COOKIE with the error files of the ranks. BASE and the folder have mode 0700, and the
/// folder is locked while the agent lives. An agent that ends well removes its folder, so a folder
/// without a lock belongs to an agent that was killed.
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

/// Returns the cookies of all agent folders in `base`, or of those that no agent holds.
std::vector<Cookie> agent_folders(const std::string& base);
std::vector<Cookie> abandoned_folders(const std::string& base);
void remove_abandoned_folder(const std::string& base, const Cookie& cookie);

/// Kills processes that carry the cookie of a dead agent, with all below them, until none is found
/// or 3 s have passed. Only agents that `base` (agent_folders_of_user) names, and whose folder
/// nobody holds, count as dead. Costs one system call if there are none. Returns the number of
/// processes killed. A process below a running link is left to that link. Stopped links of a dead
/// agent are killed.
std::uint32_t sweep_after_dead_agents(const std::string& base);

/// Does the same for all dead agents of one job, also those without a folder, and for its stopped
/// agents: guard, agent, shims and ranks of a node that were all stopped are found stopped in two
/// looks, 0.5 s apart, and killed. Running agents of the job are left alone, except those whose pid
/// is in `lost`: the root has given them up, and they may not know it yet.
std::uint32_t sweep_job(const std::string& base, const std::string& job,
                        const std::vector<pid_t>& lost);

}  // namespace ds::launcher
