#include "launcher/agent/leftovers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "engine/base/function_ref.h"
#include "engine/base/split.h"
#include "launcher/agent/cgroups.h"
#include "launcher/agent/process_tree.h"

namespace ds::launcher {
namespace {

template <class Number>
bool read_whole(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end && number > 0;
}

constexpr std::string_view kPrefix = "agent-";

UniqueFd open_folder(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Returns true if only this user can enter the folder: anybody may create folders in /tmp.
bool is_private(const std::string& path) {
  struct stat facts {};
  const UniqueFd folder = open_folder(path);
  return folder && ::fstat(folder.get(), &facts) == 0 && facts.st_uid == ::geteuid() &&
         (facts.st_mode & 077U) == 0;
}

std::string folder_of(const std::string& base, const Cookie& cookie) {
  return fmt::format("{}/{}{}", base, kPrefix, cookie.text());
}

/// Returns true if an agent holds its folder. An agent in another PID namespace is known by its
/// lock alone; one that has not locked yet, by its pid.
bool is_held(const std::string& base, const Cookie& cookie) {
  const UniqueFd folder = open_folder(folder_of(base, cookie));
  if (!folder) return errno != ENOENT;
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return true;
  return ProcessRef::of(cookie.agent, cookie.start).lives();
}

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
  /// `kills_stopped`: stopped agents count as dead. `lost`: pids of agents that do in any case.
  Search(Wanted wanted, bool kills_stopped, std::vector<Cookie> agents,
         const std::vector<pid_t>& lost)
      : wanted_(wanted), kills_stopped_(kills_stopped), agents_(std::move(agents)), lost_(lost) {}

  std::uint32_t run(const Deadline& deadline) {
    for (bool cleared = false;;) {
      look();
      const bool late = deadline.passed();
      // Cgroups come second: ranks that died there would no longer lead to their stopped links.
      if ((!waits_ || late) && !std::exchange(cleared, true)) clear_cgroups();
      if ((found_.empty() && !waits_) || late) return static_cast<std::uint32_t>(killed_.size());
      ::usleep(found_.empty() ? 50'000 : 1000);  // Death and reparenting send no event.
    }
  }

 private:
  void look() {
    found_.clear();
    waits_ = false;
    for (const Cookie& cookie : agents_)
      if (wanted_(cookie)) check(ProcessRef{}, cookie);
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
    const bool lost = std::ranges::count(lost_, cookie.agent) > 0;
    if (!lost && (state == State::alive || (state == State::stopped && !kills_stopped_))) return;
    std::vector<ProcessRef> links;
    if (state != State::gone) links = links_of(agent);
    if (links.empty() && process.pid() != 0) {
      const pid_t above = link_above(process.pid());
      if (above != 0) links.push_back(ProcessRef::of(above));
      if (above != 0 && (links[0].state() != State::stopped || !is_cut_off(above))) return;
    }
    if (!links.empty() && !lost && !stopped_for_good(links)) return;
    for (const ProcessRef& link : links) append_tree(link, found_);
    if (process.pid() != 0) append_tree(process, found_);
  }

  bool stopped_for_good(const std::vector<ProcessRef>& links) {
    const Clock::time_point now = Clock::now();
    Clock::time_point& since = stopped_since_.try_emplace(links[0].pid(), now).first->second;
    for (const ProcessRef& link : links)
      if (link.state() == State::alive) since = now;
    const bool for_good = now - since >= StopWatch::kPeriod;
    waits_ = waits_ || !for_good;
    return for_good;
  }

  Wanted wanted_;
  bool kills_stopped_;
  std::vector<Cookie> agents_;
  const std::vector<pid_t>& lost_;
  std::vector<ProcessRef> found_;
  bool waits_ = false;
  std::map<pid_t, Clock::time_point> stopped_since_;  // by the first link of a chain
  std::set<pid_t> killed_;
};

std::uint32_t sweep(const std::string& base, Wanted wanted, bool kills_stopped,
                    std::vector<Cookie> agents, const std::vector<pid_t>& lost) {
  const Deadline deadline = Deadline::after(kSweepLimit);
  const std::uint32_t killed = Search(wanted, kills_stopped, std::move(agents), lost).run(deadline);
  // The next agent takes what is left at the deadline.
  for (const Cookie& cookie : abandoned_folders(base))
    if (wanted(cookie) && !deadline.passed()) remove_abandoned_folder(base, cookie);
  return killed;
}

}  // namespace

std::string Cookie::text() const { return fmt::format("{}.{}.{}", job, agent, start); }

std::optional<Cookie> Cookie::parse(std::string_view text) {
  const std::size_t second = text.rfind('.');
  if (second == std::string_view::npos || second == 0) return std::nullopt;
  const std::size_t first = text.rfind('.', second - 1);
  if (first == std::string_view::npos || first == 0) return std::nullopt;
  Cookie cookie{.job = std::string(text.substr(0, first))};
  const bool good = read_whole(text.substr(first + 1, second - first - 1), cookie.agent) &&
                    read_whole(text.substr(second + 1), cookie.start);
  return good ? std::optional(cookie) : std::nullopt;
}

std::optional<Cookie> cookie_in_environment(std::string_view environ_text) {
  const std::string name = std::string(kCookieVariable) + "=";
  for (const std::string_view entry : split(environ_text, '\0'))
    if (entry.starts_with(name)) return Cookie::parse(entry.substr(name.size()));
  return std::nullopt;
}

std::string agent_folders_of_user() {
  const char* const own = std::getenv("DSLAUNCH_RUNTIME_DIR");
  if (own != nullptr && own[0] == '/') return own;
  return fmt::format("/tmp/dslaunch-{}", ::geteuid());
}

AgentFolder AgentFolder::make(const std::string& base, const Cookie& cookie) {
  AgentFolder made;
  if (cookie.job.find('/') != std::string::npos) return made;
  ::mkdir(base.c_str(), 0700);
  if (!is_private(base)) return made;
  const std::string path = folder_of(base, cookie);
  if (::mkdir(path.c_str(), 0700) != 0) return made;
  made.path_ = path;
  made.lock_ = open_folder(path);
  if (made.lock_) ::flock(made.lock_.get(), LOCK_EX | LOCK_NB);
  return made;
}

std::string AgentFolder::error_file(std::uint32_t epoch, std::int32_t rank) const {
  return fmt::format("{}/epoch{}.rank{}.json", path_, epoch, rank);
}

void AgentFolder::remove() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  *this = AgentFolder();
}

std::string read_written_file(const std::string& path, std::size_t limit) {
  std::string text;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return text;
  text.resize(std::min(limit, static_cast<std::size_t>(facts.st_size)));
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

std::vector<Cookie> agent_folders(const std::string& base) {
  std::vector<Cookie> found;
  if (!is_private(base)) return found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(base, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    if (auto cookie = Cookie::parse(std::string_view(name).substr(kPrefix.size())))
      found.push_back(std::move(*cookie));
  }
  return found;
}

std::vector<Cookie> abandoned_folders(const std::string& base) {
  std::vector<Cookie> found = agent_folders(base);
  std::erase_if(found, [&](const Cookie& cookie) { return is_held(base, cookie); });
  return found;
}

void remove_abandoned_folder(const std::string& base, const Cookie& cookie) {
  std::error_code ignored;
  std::filesystem::remove_all(folder_of(base, cookie), ignored);
}

std::uint32_t sweep_after_dead_agents(const std::string& base) {
  const std::vector<Cookie> dead = abandoned_folders(base);
  if (dead.empty()) return 0;
  const auto is_dead = [&](const Cookie& cookie) { return std::ranges::count(dead, cookie) > 0; };
  return sweep(base, is_dead, /*kills_stopped=*/false, dead, {});
}

std::uint32_t sweep_job(const std::string& base, const std::string& job,
                        const std::vector<pid_t>& lost) {
  const auto is_of_job = [&](const Cookie& cookie) { return cookie.job == job; };
  return sweep(base, is_of_job, /*kills_stopped=*/true, agent_folders(base), lost);
}

}  // namespace ds::launcher
