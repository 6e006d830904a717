// Runs dsrunner, shows what it prints, and keeps the problem for the report of a pod.
#include "launcher/commands/start/check_config.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "engine/base/unique_fd.h"
#include "launcher/cli/forward_env.h"
#include "launcher/job/host_check.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kMaxCheckText = 4096;  // of which the problem is taken
constexpr int kLookMs = 50;                   // interval of calls of goes_on

/// Returns the environment of rank 0. Any port works because no rank connects.
std::vector<std::string> environment_of(const PlacedJob& placed) {
  const Placement& placement = placed.placement;
  EnvList place = {
      {contract::kRank, "0"},
      {contract::kLocalRank, "0"},
      {contract::kWorldSize, std::to_string(placement.shown_world())},
      {contract::kLocalWorldSize, std::to_string(placement.nodes.front().ranks.size())},
      {contract::kMasterAddr, "127.0.0.1"},
      {contract::kMasterPort, "29500"}};
  if (placed.elastic_ranks)
    place.emplace_back(contract::kElasticRanks, range_text(*placed.elastic_ranks));
  std::vector<std::string> environment;
  for (const auto& [name, value] : own_variables())
    if (std::ranges::count(place, name, &EnvList::value_type::first) == 0)
      environment.push_back(name + "=" + value);
  for (const auto& [name, value] : place) environment.push_back(name + "=" + value);
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// A dsrunner that runs. The destructor kills one whose end was not waited for.
class Runner {
 public:
  /// `output` takes its standard output and error.
  Runner(std::vector<std::string> words, std::vector<std::string> environment,
         const std::string& folder, int output) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    for (const int stream : {1, 2}) ::posix_spawn_file_actions_adddup2(&actions, output, stream);
    if (::access(folder.c_str(), X_OK) == 0)
      ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    const int error = ::posix_spawn(&pid_, words.front().c_str(), &actions, nullptr,
                                    pointers(words).data(), pointers(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw_errno("cannot run " + words.front(), error);
  }
  ~Runner() {
    if (ended_) return;
    kill();
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void kill() const { ::kill(pid_, SIGKILL); }

  /// Waits for its end, and returns its exit code.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0)
      if (errno != EINTR) throw_errno("cannot wait for dsrunner", errno);
    ended_ = true;
    return ExitStatus::from_wait_status(status).shell_code();
  }

 private:
  pid_t pid_ = 0;
  bool ended_ = false;
};

/// Copies everything from `fd` to standard error, until its end or until `goes_on` returns false,
/// which is called every 50 ms. Returns the beginning of the text.
std::string show_and_keep(int fd, const std::function<bool()>& goes_on) {
  std::string kept;
  std::array<char, 4096> buffer{};
  while (!goes_on || goes_on()) {
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, goes_on ? kLookMs : -1) <= 0) continue;
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return kept;
    const auto length = static_cast<std::size_t>(size);
    kept.append(buffer.data(), std::min(length, kMaxCheckText - kept.size()));
    (void)!::write(STDERR_FILENO, buffer.data(), length);
  }
  return kept;
}

/// Runs `words`. Its output goes to standard error, because standard output belongs to the ranks.
ConfigCheck run_and_wait(std::vector<std::string> words, std::vector<std::string> environment,
                         const std::string& folder, const std::function<bool()>& goes_on) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("cannot make a pipe", errno);
  const UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  Runner runner(std::move(words), std::move(environment), folder, input.get());
  input.reset();
  ConfigCheck check{.problem = check_problem(show_and_keep(output.get(), goes_on))};
  if (goes_on && !goes_on()) runner.kill();
  check.code = runner.wait();
  return check;
}

}  // namespace

ConfigCheck check_config(const Program& program, const PlacedJob& placed, bool here,
                         const std::function<bool()>& goes_on) {
  std::vector<std::string> words = program.argv;
  if (::access(words.front().c_str(), X_OK) != 0) return {};  // the nodes may have dsrunner
  words.insert(words.begin() + 1, here ? "--check" : "--check=config");
  return run_and_wait(std::move(words), environment_of(placed), program.working_directory,
                      goes_on);
}

}  // namespace ds::launcher
