#include "e2e/orphans/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

namespace ds::test {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

bool chance(std::mt19937_64& random, int percent) {
  return std::uniform_int_distribution<int>(0, 99)(random) < percent;
}

std::string random_ways(std::mt19937_64& random) {
  std::string ways;
  for (const char way : std::string("tfdsbh"))
    if (chance(random, 50)) ways += way;
  return ways.empty() ? "b" : ways;
}

/// The job's processes by their place in the tree.
struct JobTree {
  pid_t root = 0;
  pid_t guard = 0;
  pid_t agent = 0;
  pid_t init = 0;  // of the PID namespace
  std::vector<pid_t> shims;
  std::vector<pid_t> others;  // ranks and what they made
};

std::optional<JobTree> find_tree(const std::vector<Process>& all, pid_t root, std::size_t ranks) {
  JobTree tree{.root = root, .guard = 0, .agent = 0, .init = 0, .shims = {}, .others = {}};
  const auto guards = children_of(all, root);
  if (guards.size() != 1) return std::nullopt;
  tree.guard = guards[0].pid;
  const auto agents = children_of(all, tree.guard);
  if (agents.size() != 1) return std::nullopt;
  tree.agent = agents[0].pid;
  for (const Process& child : children_of(all, tree.agent)) {
    if (child.name == "dsinit") tree.init = child.pid;
    if (child.name != "dsinit") tree.shims.push_back(child.pid);
  }
  if (tree.shims.size() != ranks) return std::nullopt;
  for (const Process& process : all) {
    const pid_t pid = process.pid;
    if (pid != root && pid != tree.guard && pid != tree.agent && pid != tree.init &&
        std::ranges::count(tree.shims, pid) == 0)
      tree.others.push_back(pid);
  }
  return tree;
}

struct Hit {
  pid_t pid = 0;
  int signal = 0;
  std::string name;
  bool ends_the_job = false;
};

std::vector<Hit> random_hits(const JobTree& tree, std::mt19937_64& random) {
  std::vector<Hit> hits;
  const bool isolated = tree.init != 0;
  // Of isolated jobs often all links, or all processes, and often all in the same way.
  const bool all_links = isolated && chance(random, 40);
  const bool everything = isolated && chance(random, 25);
  const int kills = isolated ? std::uniform_int_distribution<int>(0, 2)(random) * 50 : 50;
  const auto maybe = [&](pid_t pid, int percent, const std::string& name, bool link) {
    if (!everything && !(all_links && link) && !chance(random, percent)) return;
    const bool kill = chance(random, kills);
    hits.push_back({pid, kill ? SIGKILL : SIGSTOP, name, link || (kill && pid == tree.root)});
  };
  maybe(tree.root, 40, "root", false);
  // What is spared: the guard, the agent, or all shims. Everything else may be hit.
  const int spared = isolated ? 3 : std::uniform_int_distribution<int>(0, 2)(random);
  if (isolated) maybe(tree.init, 60, "init", true);
  if (spared != 0) maybe(tree.guard, 60, "guard", true);
  if (spared != 1) maybe(tree.agent, 60, "agent", true);
  if (spared != 2)
    for (std::size_t i = 0; i < tree.shims.size(); ++i)
      maybe(tree.shims[i], 60, fmt::format("shim{}", i), true);
  for (const pid_t other : tree.others) maybe(other, 15, "rank's", false);
  std::ranges::shuffle(hits, random);
  if (std::ranges::none_of(hits, &Hit::ends_the_job)) return {};
  return hits;
}

/// The launcher, started with the cookie in its environment and no output.
pid_t start(const std::vector<std::string>& argv, const std::string& cookie) {
  std::vector<char*> raw;
  for (const std::string& word : argv) raw.push_back(const_cast<char*>(word.c_str()));
  raw.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::setenv("DS_ORPHAN_COOKIE", cookie.c_str(), 1);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  ::execv(raw[0], raw.data());
  ::_exit(127);
}

/// Polls `ready` until it holds, as often as polls fit into `limit`. Polls take longer on an
/// overloaded machine, where the processes of the job need more time, too.
template <typename Ready>
bool wait_until(std::chrono::milliseconds limit, Ready ready) {
  constexpr auto kPeriod = 20ms;
  for (auto polls = limit / kPeriod; !ready(); --polls) {
    if (polls == 0) return false;
    std::this_thread::sleep_for(kPeriod);
  }
  return true;
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                std::filesystem::directory_iterator()));
}

/// What of the job lives, except a launcher that the trial itself has stopped: nobody may kill a
/// process that its user has stopped, and it runs no ranks.
std::vector<Process> leftovers(const std::string& cookie, pid_t root) {
  auto all = processes_with(cookie);
  std::erase_if(
      all, [&](const Process& process) { return process.pid == root && process.state == 'T'; });
  return all;
}

void clean_up(const std::string& cookie, pid_t root) {
  wait_until(5s, [&] {
    const auto all = processes_with(cookie);
    for (const Process& process : all) ::kill(process.pid, SIGKILL);
    return all.empty();
  });
  ::waitpid(root, nullptr, 0);
}

/// Of this very process: the same trials may run elsewhere on the machine at the same time.
std::string new_cookie(std::mt19937_64& random) {
  return fmt::format("orphan-{}-{:016x}", ::getpid(), random());
}

void hit_and_look(const JobTree& tree, const std::string& cookie, std::mt19937_64& random,
                  TrialResult& result) {
  std::vector<Hit> hits;
  while (hits.empty()) hits = random_hits(tree, random);
  for (const Hit& hit : hits) {
    ::kill(hit.pid, hit.signal);
    result.hits += fmt::format("{}{} {}", result.hits.empty() ? "" : ", ",
                               hit.signal == SIGKILL ? "kill" : "stop", hit.name);
  }
  const auto start_of_wait = Clock::now();
  wait_until(kLimit, [&] { return leftovers(cookie, tree.root).empty(); });
  result.left = leftovers(cookie, tree.root);
  result.clean_after =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_of_wait);
}

}  // namespace

bool can_isolate(const TrialSetup& setup) {
  const pid_t job = start({setup.launcher, "--isolate", "pid", "--", "true"}, "no trial");
  int status = 0;
  return ::waitpid(job, &status, 0) == job && status == 0;
}

TrialResult run_trial(const TrialSetup& setup, std::mt19937_64& random) {
  TrialResult result;
  result.ways = random_ways(random);
  const std::string cookie = new_cookie(random);
  const auto folder = std::filesystem::temp_directory_path() / cookie;
  std::filesystem::create_directory(folder);
  const int ranks = std::uniform_int_distribution<int>(1, 4)(random);
  std::vector<std::string> command = {setup.launcher, "-n", std::to_string(ranks)};
  if (setup.isolated) command.insert(command.end(), {"--isolate", "pid"});
  command.insert(command.end(), {"--", setup.rank, result.ways, folder});
  const pid_t root = start(command, cookie);
  std::optional<JobTree> tree;
  const bool up =
      wait_until(20s, [&] { return files_in(folder) == static_cast<std::size_t>(ranks); }) &&
      // Processes that just fork are between two places: look again.
      wait_until(5s, [&] {
        tree = find_tree(processes_with(cookie), root, static_cast<std::size_t>(ranks));
        return tree.has_value() && setup.isolated == (tree->init != 0);
      });
  if (up) {
    hit_and_look(*tree, cookie, random, result);
  } else {
    result.error = "no job with launcher, guard, agent and one shim per rank came up";
  }
  clean_up(cookie, root);
  std::filesystem::remove_all(folder);
  return result;
}

}  // namespace ds::test
