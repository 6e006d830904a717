#include "launcher/agent/process_settings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/split.h"

namespace ds::launcher {
namespace {

struct KnownLimit {
  const char* name;
  __rlimit_resource resource;
  bool exact;  // `ulimit -c 0` must be kept: it prevents core files
};

constexpr KnownLimit kLimits[] = {{"nofile", RLIMIT_NOFILE, false},
                                  {"nproc", RLIMIT_NPROC, false},
                                  {"memlock", RLIMIT_MEMLOCK, false},
                                  {"stack", RLIMIT_STACK, false},
                                  {"core", RLIMIT_CORE, true}};

/// The limit before raise_open_files(). A forked agent inherits the value.
std::optional<rlimit> files_before;

/// Returns a limit as it was before raise_open_files().
std::optional<rlimit> limit_of(__rlimit_resource resource) {
  if (resource == RLIMIT_NOFILE && files_before) return files_before;
  rlimit now{};
  return ::getrlimit(resource, &now) == 0 ? std::optional(now) : std::nullopt;
}

}  // namespace

EnvList merge_env(const std::vector<const EnvList*>& lists) {
  EnvList merged;
  std::map<std::string, std::size_t> at;
  for (const EnvList* list : lists) {
    for (const auto& [name, value] : *list) {
      const auto [place, is_new] = at.try_emplace(name, merged.size());
      if (is_new) merged.emplace_back(name, "");
      merged[place->second].second = value;
    }
  }
  return merged;
}

EnvList environment_of_this_process() {
  EnvList list;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=', 1);
    if (equals != std::string::npos)
      list.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return list;
}

void unset_variables(bool (*chosen)(std::string_view)) {
  for (const auto& [name, value] : environment_of_this_process())
    if (chosen(name)) ::unsetenv(name.c_str());
}

std::vector<std::string> exec_candidates(const std::string& program, const EnvList& env) {
  if (program.find('/') != std::string::npos) return {program};
  if (program.empty()) return {};
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  for (const auto& [name, value] : env)
    if (name == "PATH") path = value;
  std::vector<std::string> files;
  for (const std::string_view folder : split(path, ':'))  // Empty: the current folder.
    files.push_back(std::string(folder.empty() ? "." : folder) + "/" + program);
  return files;
}

Login find_login(const EnvList& env, std::string_view passwd, uid_t user) {
  Login login;
  for (const auto& [name, value] : env) {
    if (name == "HOME") login.home = value;
    if (name == "SHELL") login.shell = value;
  }
  for (const std::string_view line : split(passwd, '\n')) {
    std::vector<std::string_view> fields = split(line, ':');
    fields.resize(7);  // name:password:uid:gid:gecos:home:shell
    if (fields[2] != std::to_string(user)) continue;
    if (login.home.empty()) login.home = fields[5];
    if (login.shell.empty()) login.shell = fields[6];
    break;
  }
  if (login.home.empty()) login.home = "/";
  if (login.shell.empty()) login.shell = "/bin/sh";
  return login;
}

void resolve_login(ProgramSpec& program, const EnvList& env) {
  if (!program.at_home && !program.login_shell) return;
  std::ifstream file("/etc/passwd");
  const std::string passwd{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Login login = find_login(env, passwd, ::getuid());
  if (program.at_home && program.cwd.empty()) program.cwd = login.home;
  if (program.login_shell) program.argv = {login.shell, "-c", program.argv.at(0)};
}

void raise_open_files() {
  rlimit now{};
  if (files_before || ::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur == now.rlim_max) return;
  const rlimit raised{now.rlim_max, now.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) files_before = now;
}

std::size_t most_open_files() {
  rlimit now{};
  return ::getrlimit(RLIMIT_NOFILE, &now) == 0 ? now.rlim_cur : 1024;
}

void give_back_open_files() {
  if (files_before) ::setrlimit(RLIMIT_NOFILE, &*files_before);
}

std::vector<ResourceLimit> limits_of_this_process() {
  static_assert(RLIM_INFINITY == UINT64_MAX);
  std::vector<ResourceLimit> limits;
  for (const KnownLimit& known : kLimits)
    if (const auto now = limit_of(known.resource)) limits.push_back({known.name, now->rlim_cur});
  return limits;
}

rlim_t soft_limit(const rlimit& now, std::uint64_t wanted, bool exact) {
  const rlim_t allowed = std::min<rlim_t>(wanted, now.rlim_max);
  return exact ? allowed : std::max(now.rlim_cur, allowed);
}

std::vector<LimitToSet> limits_to_set(const std::vector<ResourceLimit>& wanted) {
  std::vector<LimitToSet> changes;
  if (files_before) changes.push_back({RLIMIT_NOFILE, *files_before});
  for (const ResourceLimit& limit : wanted) {
    const auto* const known = std::ranges::find(kLimits, limit.name, &KnownLimit::name);
    if (known == std::end(kLimits)) continue;
    const std::optional<rlimit> now = limit_of(known->resource);
    if (!now) continue;
    const rlim_t soft = soft_limit(*now, limit.soft, known->exact);
    if (soft != now->rlim_cur) changes.push_back({known->resource, {soft, now->rlim_max}});
  }
  return changes;
}

}  // namespace ds::launcher
