// Configuration check: runs dsrunner in the environment of a rank and waits for it.
#include "launcher/commands/start/check_config.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "launcher/cli/forward_env.h"
#include "launcher/sources/own_names.h"

namespace ds::launcher {
namespace {

/// Returns the environment of rank 0. Any port works because no rank connects.
std::vector<std::string> environment_of(const Placement& placement) {
  const EnvList place = {
      {contract::kRank, "0"},
      {contract::kLocalRank, "0"},
      {contract::kWorldSize, std::to_string(placement.shown_world())},
      {contract::kLocalWorldSize, std::to_string(placement.nodes.front().ranks.size())},
      {contract::kMasterAddr, "127.0.0.1"},
      {contract::kMasterPort, "29500"}};
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

/// Runs `words` and returns the exit code.
int run(std::vector<std::string> words, std::vector<std::string> environment,
        const std::string& folder) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 2, 1);  // standard output belongs to the ranks
  if (::access(folder.c_str(), X_OK) == 0)
    ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, words.front().c_str(), &actions, nullptr,
                                  pointers(words).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw_errno("cannot run " + words.front(), error);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) throw_errno("cannot wait for dsrunner", errno);
  return ExitStatus::from_wait_status(status).shell_code();
}

}  // namespace

bool runs_here(const Host& host, TransportChoice transport) {
  if (transport == TransportChoice::local) return true;
  return transport == TransportChoice::automatic && is_own_host(host, own_names());
}

int check_config(const Program& program, const Placement& placement, bool here) {
  std::vector<std::string> words = program.argv;
  if (::access(words.front().c_str(), X_OK) != 0) return 0;  // the nodes may have dsrunner
  words.insert(words.begin() + 1, here ? "--check" : "--check=config");
  return run(std::move(words), environment_of(placement), program.working_directory);
}

}  // namespace ds::launcher
