#include "launcher/agent/leftovers.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "engine/base/function_ref.h"
#include "launcher/agent/agent_folder.h"
#include "launcher/agent/cgroups.h"
#include "launcher/agent/process_tree.h"

namespace ds::launcher {
namespace {

using Wanted = FunctionRef<bool(const Cookie&)>;
using State = ProcessRef::State;

constexpr std::chrono::seconds kSweepLimit{3};

bool is_link(const std::string& name) {
  return name == kShimName || name == kGuardName || name == kAgentName;
}

/// Returns the nearest link above a process; 0 if there is none.
pid_t link_above(pid_t pid) {
  pid_t above = parent_of(pid);
  while (above > 1 && !is_link(name_of(above))) above = parent_of(above);
  return above > 1 ? above : 0;
}

/// Returns the guard and the agent of a chain whose agent still has an entry in /proc, and all
/// shims below them (shims of a dead agent belong to the guard).
std::vector<ProcessRef> links_of(const ProcessRef& agent) {
  std::vector<ProcessRef> links;
  const pid_t guard = parent_of(agent.pid());
  const bool has_guard = guard > 1 && name_of(guard) == kGuardName;
  if (has_guard) links.push_back(ProcessRef::of(guard));
  if (agent.lives()) links.push_back(agent);
  for (const pid_t above : {has_guard ? guard : 0, agent.pid()})
    for (const pid_t child : children_of(above))
      if (name_of(child) == kShimName) links.push_back(ProcessRef::of(child));
  return links;
}

/// Returns true for a shim that has lost guard and agent, and for a guard that has lost its agent.
bool is_cut_off(pid_t link) {
  const std::string name = name_of(link);
  const pid_t parent = parent_of(link);
  // The first process of a pod is a dslaunch, but not a link.
  if (name == kShimName) return parent <= 1 || !is_link(name_of(parent));
  const std::vector<pid_t> children = children_of(link);
  return name == kGuardName &&
         std::ranges::none_of(children, [](pid_t child) { return name_of(child) == kAgentName; });
}

/// Appends a process with all below it: a descendant may have removed the cookie.
void append_tree(const ProcessRef& process, std::vector<ProcessRef>& out) {
  if (process.pid() == ::getpid()) return;
  out.push_back(process);
  for (const pid_t child : children_of(process.pid())) append_tree(ProcessRef::of(child), out);
}

/// One search, repeated until nothing is left. Links that are stopped count as dead once they were
/// seen stopped for StopWatch::kPeriod: a job may be suspended and resumed process by process.
class Search {
 public:
  /// `agents`: cookies to look for besides those in /proc: their links may have no ranks any more.
  /// `kills_stopped`: stopped agents count as dead.
  Search(Wanted wanted, bool kills_stopped, std::vector<Cookie> agents)
      : wanted_(wanted), kills_stopped_(kills_stopped), agents_(std::move(agents)) {}

  std::uint32_t run(const Deadline& deadline) {
    for (bool cleared = false;;) {
      look();
      const bool late = deadline.passed();
      // Cgroups come second: ranks that died there would no longer lead to their stopped links.
      if (!cleared && (!waits_ || late)) {
        clear_cgroups();
        cleared = true;
      }
      if ((found_.empty() && !waits_) || late) return static_cast<std::uint32_t>(killed_.size());
      ::usleep(found_.empty() ? 50'000 : 1000);  // Death and reparenting send no event.
    }
  }

 private:
  void look() {
    found_.clear();
    waits_ = false;
    for (const Cookie& cookie : agents_) check(ProcessRef{}, cookie);
    for (const pid_t pid : all_processes()) {
      // The reference comes first, so that the process checked is the process killed.
      const ProcessRef process = ProcessRef::of(pid);
      const auto cookie = cookie_in_environment(read_proc(pid, "environ"));
      if (pid != ::getpid() && cookie && wanted_(*cookie)) check(process, *cookie);
    }
    std::erase_if(found_, [](const ProcessRef& process) { return !process.lives(); });
    for (const ProcessRef& process : found_) {
      process.kill();
      killed_.insert(process.pid());
    }
  }

  /// Kills by cgroup, which reaches processes of other users, too.
  void clear_cgroups() {
    const std::vector<pid_t> killed = CgroupPlace::find().clear([this](const Cookie& cookie) {
      return wanted_(cookie) && !ProcessRef::of(cookie.agent, cookie.start).lives();
    });
    killed_.insert(killed.begin(), killed.end());
  }

  /// Adds a process, and the links above it, to found_ if nobody else will kill them.
  void check(const ProcessRef& process, const Cookie& cookie) {
    const ProcessRef agent = ProcessRef::of(cookie.agent, cookie.start);
    const State state = agent.state();
    if (state == State::alive || (state == State::stopped && !kills_stopped_)) return;
    std::vector<ProcessRef> links;
    if (state != State::gone) links = links_of(agent);
    if (links.empty() && process.pid() != 0) {
      const pid_t above = link_above(process.pid());
      if (above != 0) links.push_back(ProcessRef::of(above));
      if (above != 0 && (links[0].state() != State::stopped || !is_cut_off(above))) return;
    }
    if (!links.empty() && !stopped_for_good(links)) return;
    for (const ProcessRef& link : links) append_tree(link, found_);
    if (process.pid() != 0) append_tree(process, found_);
  }

  bool stopped_for_good(const std::vector<ProcessRef>& links) {
    const bool at_work = std::ranges::any_of(
        links, [](const ProcessRef& link) { return link.state() == State::alive; });
    const Clock::time_point now = Clock::now();
    Clock::time_point& since = stopped_since_.try_emplace(links[0].pid(), now).first->second;
    if (at_work) since = now;
    const bool for_good = now - since >= StopWatch::kPeriod;
    waits_ = waits_ || !for_good;
    return for_good;
  }

  Wanted wanted_;
  bool kills_stopped_;
  std::vector<Cookie> agents_;
  std::vector<ProcessRef> found_;
  bool waits_ = false;
  std::map<pid_t, Clock::time_point> stopped_since_;  // by the first link of a chain
  std::set<pid_t> killed_;
};

}  // namespace

std::uint32_t sweep_after_dead_agents(const std::string& base) {
  const Deadline deadline = Deadline::after(kSweepLimit);
  const std::vector<Cookie> dead = abandoned_folders(base);
  if (dead.empty()) return 0;
  const auto wanted = [&](const Cookie& cookie) { return std::ranges::count(dead, cookie) > 0; };
  const std::uint32_t killed = Search(wanted, /*kills_stopped=*/false, dead).run(deadline);
  // The next agent takes what is left at the deadline.
  if (!deadline.passed())
    for (const Cookie& cookie : dead) remove_abandoned_folder(base, cookie);
  return killed;
}

std::uint32_t sweep_job(const std::string& base, const std::string& job) {
  const Deadline deadline = Deadline::after(kSweepLimit);
  const auto wanted = [&](const Cookie& cookie) { return cookie.job == job; };
  std::vector<Cookie> agents = agent_folders(base);
  std::erase_if(agents, [&](const Cookie& cookie) { return !wanted(cookie); });
  const std::uint32_t killed = Search(wanted, /*kills_stopped=*/true, agents).run(deadline);
  for (const Cookie& cookie : abandoned_folders(base))
    if (wanted(cookie) && !deadline.passed()) remove_abandoned_folder(base, cookie);
  return killed;
}

}  // namespace ds::launcher
