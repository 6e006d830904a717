// Lookup of jobs by id among the sockets of this user.
#include "launcher/commands/jobs/find_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "engine/base/error.h"
#include "launcher/cli/forward_env.h"
#include "launcher/cli/option_table.h"
#include "launcher/control/job_client.h"
#include "launcher/control/job_socket.h"

namespace ds::launcher {

std::vector<LiveJob> own_jobs() {
  return live_jobs(socket_folders(own_variable, ::geteuid()),
                   [](const std::string& text) { fmt::print(stderr, "dslaunch: {}\n", text); });
}

std::optional<EndedJob> ended_job(std::string_view typed) {
  std::vector<EndedJob> found;
  for (const std::string& path : socket_folders(own_variable, ::geteuid())) try {
      const std::optional<SocketFolder> folder = SocketFolder::open(path);
      if (!folder) continue;
      for (EndedJob& job : folder->ended(typed)) found.push_back(std::move(job));
    } catch (const Error&) {  // own_jobs() has already warned about this folder
    }
  return found.size() == 1 ? std::optional(std::move(found.front())) : std::nullopt;
}

std::vector<LiveJob> chosen_jobs(std::vector<LiveJob> jobs, const std::vector<std::string>& words) {
  std::vector<std::string> ids;
  for (const LiveJob& job : jobs) ids.push_back(job.id);
  std::vector<LiveJob> chosen;
  for (const std::string& word : words) {
    const std::string id = choose_job(word, ids);
    if (std::ranges::find(chosen, id, &LiveJob::id) == chosen.end())
      chosen.push_back(std::move(*std::ranges::find(jobs, id, &LiveJob::id)));
  }
  return chosen;
}

LiveJob only_job(const Command& command, const std::vector<std::string>& words,
                 std::vector<LiveJob> jobs) {
  if (words.size() > 1) usage_error(fmt::format("dslaunch {} takes only one job", command.name));
  const std::string word = words.empty() ? "" : words.front();
  return std::move(chosen_jobs(std::move(jobs), {word}).front());
}

ControlMessage answer_of(LiveJob& job) {
  const Deadline deadline = Deadline::after(std::chrono::seconds(5));
  std::optional<ControlMessage> answer;
  while (!answer && !job.client.over() && !deadline.passed()) answer = job.client.next(deadline);
  const std::string name = "job " + short_id(job.id);
  if (!answer && job.client.over()) throw Error(ErrorKind::unreachable, name + " has just ended");
  if (!answer) {
    const pid_t pid = job.client.pid();
    if (is_suspended(pid))
      throw Error(ErrorKind::unreachable, name + " is suspended",
                  fmt::format("resume it with: dslaunch kill {} --signal CONT", short_id(job.id)));
    throw Error(ErrorKind::unreachable, name + " does not answer",
                fmt::format("its launcher is process {}", pid));
  }
  if (const auto* refused = std::get_if<Refused>(&*answer))
    throw Error(ErrorKind::unreachable, name + ": " + refused->reason);
  return std::move(*answer);
}

JobInfo info_of(LiveJob& job) {
  job.client.send(InfoRequest{});
  ControlMessage answer = answer_of(job);
  if (auto* info = std::get_if<JobInfo>(&answer)) return std::move(*info);
  throw Error(ErrorKind::unreachable, "unexpected answer from the job");
}

std::string short_id(const std::string& id) { return id.substr(0, 8); }

}  // namespace ds::launcher
