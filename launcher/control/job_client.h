// Running jobs as a client sees them: connections with deadlines, the choice of a job, and texts
// about jobs for `dslaunch ps`.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/control/job_socket.h"

namespace ds::launcher {

class JobClient {
 public:
  /// Takes ownership of a connected socket.
  explicit JobClient(UniqueFd socket) : socket_(std::move(socket)) {}

  /// Sends a message. Returns false if the job has closed its end; next() still returns what it
  /// sent.
  bool send(const ControlMessage& message);
  /// Returns the next message; nothing at the deadline or if nothing more can come.
  std::optional<ControlMessage> next(const Deadline& deadline);
  /// Returns whether the connection is closed and all received messages have been taken.
  [[nodiscard]] bool over() const { return over_; }

  [[nodiscard]] int fd() const { return socket_.get(); }
  /// Returns the pid of the job's launcher.
  [[nodiscard]] pid_t pid() const;

 private:
  UniqueFd socket_;
  ControlDecoder decoder_;
  bool over_ = false;
};

struct LiveJob {
  std::string id;
  JobClient client;
};

/// Connects to every running job of this user and removes the sockets of dead jobs. Folders that
/// cannot be trusted are reported to `warn` and skipped.
std::vector<LiveJob> live_jobs(const std::vector<std::string>& folders,
                               const std::function<void(const std::string&)>& warn);

/// Asks all jobs at once. A job that does not answer within `deadline` is described by what /proc
/// knows of its launcher; its state is "suspended" or "no answer".
std::vector<JobInfo> describe_jobs(std::vector<LiveJob>& jobs, const Deadline& deadline);

/// Returns whether the launcher is stopped, for example by Ctrl-Z.
bool is_suspended(pid_t pid);

/// Formats an age as "12s", "3m05s", "4h05m" or "2d03h".
std::string age_text(std::chrono::milliseconds age);

/// Quotes the words so that a shell reads them unchanged.
std::string command_text(std::vector<std::string> words);

/// Formats the table, oldest job first. Ids are as short as they are distinct (8 digits or more),
/// control bytes become '?', commands are cut to `columns` (0: never). `now_ms`: since 1970.
std::string jobs_table(std::vector<JobInfo> jobs, std::uint64_t now_ms, std::size_t columns);

/// Formats an array of objects: id, state, pid, host, started (RFC 3339), age_seconds, ranks,
/// ranks_left, nodes, folder, log, step, checkpoint, command.
std::string jobs_json(std::vector<JobInfo> jobs, std::uint64_t now_ms);

/// Returns the one id that begins with `typed`, or the only id if `typed` is empty.
/// Errors:  Error{usage} if none or several match, with the ids to choose from.
std::string choose_job(std::string_view typed, const std::vector<std::string>& ids);

}  // namespace ds::launcher
