// Client of a job's private socket: blocking calls with deadlines.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/control/messages.h"
#include "launcher/control/socket_folder.h"

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
  [[nodiscard]] uid_t uid() const;

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

}  // namespace ds::launcher
