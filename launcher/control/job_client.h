// The client's end of a job's private socket: blocking, with deadlines.
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
  /// Takes a connected socket.
  explicit JobClient(UniqueFd socket) : socket_(std::move(socket)) {}

  /// False if the job has closed its end; what it said before comes from next().
  bool send(const ControlMessage& message);
  /// The next message; empty at the deadline, or when nothing more can come.
  std::optional<ControlMessage> next(const Deadline& deadline);
  /// The connection is over, and all that came has been taken.
  [[nodiscard]] bool over() const { return over_; }

  [[nodiscard]] int fd() const { return socket_.get(); }
  /// The launcher of the job.
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

/// Connects to every job of this user that lives; removes the sockets that dead ones left behind.
/// Folders that cannot be trusted are told to `warn` and left alone.
std::vector<LiveJob> live_jobs(const std::vector<std::string>& folders,
                               const std::function<void(const std::string&)>& warn);

/// Asks each of them at once. A job that does not answer within `deadline` is described by what the
/// system knows of its launcher; its state is "suspended" or "no answer".
std::vector<JobInfo> describe_jobs(std::vector<LiveJob>& jobs, const Deadline& deadline);

/// The launcher has been stopped, by Ctrl-Z for instance.
bool is_suspended(pid_t pid);

}  // namespace ds::launcher
