#include "launcher/agent/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <map>

#include "engine/base/split.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {
namespace {

struct Failure {
  Exited::Stage stage = Exited::Stage::none;
  int error_number = 0;
};

/// Arguments of execve, prepared before fork.
struct ExecPlan {
  std::vector<std::string> files;
  bool searches = false;  // files are candidates from PATH
  std::vector<std::string> env_texts;
  std::vector<char*> argv;
  std::vector<char*> script_argv;  // /bin/sh FILE ARGS..., for scripts without a #! line
  std::vector<char*> envp;
};

ExecPlan plan_exec(const SpawnSetup& setup) {
  ExecPlan plan;
  plan.files = exec_candidates(setup.argv.at(0), setup.env);
  plan.searches = setup.argv[0].find('/') == std::string::npos;
  for (const auto& [name, value] : setup.env) plan.env_texts.push_back(name + "=" + value);
  for (const std::string& text : plan.env_texts)
    plan.envp.push_back(const_cast<char*>(text.c_str()));
  static const char* const kShell = "/bin/sh";
  plan.script_argv = {const_cast<char*>(kShell), nullptr};
  for (const std::string& text : setup.argv) {
    plan.argv.push_back(const_cast<char*>(text.c_str()));
    if (plan.argv.size() > 1) plan.script_argv.push_back(const_cast<char*>(text.c_str()));
  }
  plan.argv.push_back(nullptr);
  plan.script_argv.push_back(nullptr);
  plan.envp.push_back(nullptr);
  return plan;
}

/// Tries the files as execvp does; returns the errno that says most.
int exec_first(ExecPlan& plan) {
  int best = ENOENT;
  for (const std::string& file : plan.files) {
    // access() costs a tenth of an exec that fails, and a PATH is long. A folder of PATH that
    // cannot be searched holds no candidate, as in bash: EACCES is for a file that was found.
    if (::access(file.c_str(), F_OK) != 0 && (plan.searches || errno == ENOENT || errno == ENOTDIR))
      continue;
    ::execve(file.c_str(), plan.argv.data(), plan.envp.data());
    if (errno == ENOEXEC) {
      plan.script_argv[1] = const_cast<char*>(file.c_str());
      ::execve(plan.script_argv[0], plan.script_argv.data(), plan.envp.data());
    }
    if (errno == ENOENT && best == ENOENT) {
      best = ELIBACC;  // The interpreter in its first line, or its ELF loader, does not exist.
      continue;
    }
    if (errno != ENOENT && errno != ENOTDIR) best = errno;
    if (best != ENOENT && best != EACCES && best != ELIBACC) return best;
  }
  return best;
}

/// Forks into the cgroup, if the kernel allows it.
pid_t fork_into(int cgroup_fd) {
  if (cgroup_fd >= 0) {
    clone_args wanted{};
    wanted.flags = CLONE_INTO_CGROUP;
    wanted.exit_signal = SIGCHLD;
    wanted.cgroup = static_cast<std::uint64_t>(cgroup_fd);
    const long pid = ::syscall(SYS_clone3, &wanted, sizeof wanted);
    if (pid >= 0) return static_cast<pid_t>(pid);
  }
  return ::fork();
}

void reset_signals() {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int signo = 1; signo < NSIG; ++signo) ::sigaction(signo, &plain, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Returns false if the kernel refuses the processors.
bool bind_to(const SpawnSetup& setup) {
  constexpr std::size_t kWord = sizeof(unsigned long);
  if (setup.processors.empty()) return true;
  if (::syscall(SYS_sched_setaffinity, 0, setup.processors.size() * kWord,
                setup.processors.data()) < 0)
    return false;
  // A container may forbid it: memory then comes from the node of the thread that touches it first.
  if (!setup.memory.empty())
    (void)::syscall(SYS_set_mempolicy, MPOL_PREFERRED, setup.memory.data(),
                    setup.memory.size() * kWord * CHAR_BIT + 1);
  return true;
}

/// Enters "/" as sshd does for a user whose home directory is missing.
bool enter_root(const std::string& cwd, int stderr_fd) {
  ::dprintf(stderr_fd, "Could not change to home directory %s: %s; this runs in /\n", cwd.c_str(),
            std::strerror(errno));
  return ::chdir("/") == 0;
}

Failure become_rank(const SpawnSetup& setup, ExecPlan& plan, pid_t shim) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != shim) ::_exit(1);  // The shim died before prctl().
  ::setsid();
  if (setup.on_terminal) ::ioctl(setup.stdout_fd, TIOCSCTTY, 0);
  ::dup2(setup.stdin_fd >= 0 ? setup.stdin_fd : ::open("/dev/null", O_RDONLY), 0);
  ::dup2(setup.stdout_fd, 1);
  ::dup2(setup.stderr_fd, 2);
  // exec closes the report pipe and all other descriptors.
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  if (setup.umask != Spec::kOwnUmask) ::umask(static_cast<mode_t>(setup.umask));
  for (const LimitToSet& limit : setup.limits)
    ::setrlimit(static_cast<__rlimit_resource>(limit.resource), &limit.value);
  if (!bind_to(setup)) return {Exited::Stage::bind, errno};
  if (!setup.cwd.empty() && ::chdir(setup.cwd.c_str()) != 0 &&
      !(setup.cwd_or_root && enter_root(setup.cwd, 2)))
    return {Exited::Stage::chdir, errno};
  reset_signals();
  return {Exited::Stage::exec, exec_first(plan)};
}

/// Reads `size` bytes from the report pipe; returns false at its end.
bool read_report(int pipe, void* into, std::size_t size) {
  ssize_t got = 0;
  while ((got = ::read(pipe, into, size)) < 0 && errno == EINTR) {
  }
  return got == static_cast<ssize_t>(size);
}

struct Attempt {
  bool ran = false;  // the new process has reached its first line
  SpawnResult result{};
};

Attempt try_to_spawn(const SpawnSetup& setup, ExecPlan& plan, int cgroup_fd) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {false, {0, Exited::Stage::fork, errno}};
  const UniqueFd report_read(ends[0]);
  UniqueFd report_write(ends[1]);
  const pid_t self = ::getpid();
  const pid_t pid = fork_into(cgroup_fd);
  if (pid < 0) return {false, {0, Exited::Stage::fork, errno}};
  if (pid == 0) {
    const char alive = 1;
    (void)!::write(report_write.get(), &alive, sizeof alive);
    const Failure failure = become_rank(setup, plan, self);
    (void)!::write(report_write.get(), &failure, sizeof failure);
    ::_exit(127);
  }
  report_write.reset();
  char alive = 0;
  Failure failure;
  const bool ran = read_report(report_read.get(), &alive, sizeof alive);
  if (ran && !read_report(report_read.get(), &failure, sizeof failure))
    return {true, {pid, Exited::Stage::none, 0}};
  ::waitpid(pid, nullptr, 0);
  if (!ran) return {false, {0, Exited::Stage::fork, EAGAIN}};
  return {true, {0, failure.stage, failure.error_number}};
}

}  // namespace

EnvList merge_env(const std::vector<const EnvList*>& lists) {
  EnvList merged;
  std::map<std::string, std::size_t> at;
  for (const EnvList* list : lists) {
    for (const auto& [name, value] : *list) {
      const auto [place, is_new] = at.try_emplace(name, merged.size());
      if (is_new) {
        merged.emplace_back(name, value);
      } else {
        merged[place->second].second = value;
      }
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

std::vector<std::string> exec_candidates(const std::string& program, const EnvList& env) {
  if (program.find('/') != std::string::npos) return {program};
  if (program.empty()) return {};
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  for (const auto& [name, value] : env) {
    if (name == "PATH") path = value;
  }
  std::vector<std::string> files;
  for (const std::string_view folder : split(path, ':'))  // Empty: the current folder.
    files.push_back(std::string(folder.empty() ? "." : folder) + "/" + program);
  return files;
}

SpawnResult spawn_rank(const SpawnSetup& setup) {
  ExecPlan plan = plan_exec(setup);
  Attempt attempt = try_to_spawn(setup, plan, setup.cgroup_fd);
  // Linux 6.14 and later kill a process that is cloned into another cgroup from one on which
  // cgroup.kill was once used.
  if (!attempt.ran && setup.cgroup_fd >= 0) attempt = try_to_spawn(setup, plan, -1);
  return attempt.result;
}

}  // namespace ds::launcher
