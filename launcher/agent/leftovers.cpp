// One walk through /proc finds them; a second one proves that they are gone.
#include "launcher/agent/leftovers.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "launcher/agent/agent_folder.h"
#include "launcher/agent/process_tree.h"
#include "launcher/agent/rank_cgroup.h"

namespace ds::launcher {
namespace {

/// Links are known by their names.
bool is_link(const std::string& name) {
  return name == kShimName || name == kGuardName || name == kAgentName;
}

bool has_link_above(pid_t pid) {
  for (pid_t above = parent_of(pid); above > 1; above = parent_of(above)) {
    if (is_link(name_of(above))) return true;
  }
  return false;
}

bool is_leftover(pid_t pid, const std::function<bool(const Cookie&)>& wanted) {
  const auto cookie = cookie_in_environment(environ_of(pid));
  return cookie && wanted(*cookie) && !ProcessRef::of(cookie->agent, cookie->start).lives() &&
         !has_link_above(pid);
}

/// A process with all below it, which may have thrown the cookie away.
void append_tree(const ProcessRef& process, std::vector<ProcessRef>& out) {
  out.push_back(process);
  for (const pid_t child : children_of(process.pid())) append_tree(ProcessRef::of(child), out);
}

std::vector<ProcessRef> find_leftovers(const std::function<bool(const Cookie&)>& wanted) {
  std::vector<ProcessRef> found;
  for (const pid_t pid : all_processes()) {
    // Taken first, so that what is checked is what is killed.
    const ProcessRef process = ProcessRef::of(pid);
    if (pid != ::getpid() && is_leftover(pid, wanted)) append_tree(process, found);
  }
  std::erase_if(found, [](const ProcessRef& process) { return !process.lives(); });
  return found;
}

}  // namespace

std::size_t kill_leftovers(const std::function<bool(const Cookie&)>& wanted, Deadline deadline) {
  const std::size_t killed_before = CgroupPlace::find().clear([&](const Cookie& cookie) {
    return wanted(cookie) && !ProcessRef::of(cookie.agent, cookie.start).lives();
  });
  std::set<pid_t> killed;
  while (true) {
    const std::vector<ProcessRef> found = find_leftovers(wanted);
    for (const ProcessRef& process : found) {
      process.kill();
      killed.insert(process.pid());
    }
    if (found.empty() || deadline.passed()) return killed_before + killed.size();
    ::usleep(1000);  // Dying takes a moment, and its new parent reaps it.
  }
}

std::size_t sweep_after_dead_agents(const std::string& base, Deadline deadline) {
  const std::vector<Cookie> dead = abandoned_folders(base);
  if (dead.empty()) return 0;
  const std::size_t killed = kill_leftovers(
      [&](const Cookie& cookie) { return std::count(dead.begin(), dead.end(), cookie) > 0; },
      deadline);
  // What is left at the deadline is for the next agent.
  if (!deadline.passed())
    for (const Cookie& cookie : dead) remove_abandoned_folder(base, cookie);
  return killed;
}

}  // namespace ds::launcher
