// Starts the main process of a rank: process group, or session on a terminal; descriptors, limits,
// working directory, exec.
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "launcher/agent/link.h"
#include "launcher/agent/shim.h"

namespace ds::launcher {
namespace {

/// Arguments of execve, prepared before fork.
struct ExecPlan {
  std::vector<std::string> files;
  bool searches = false;  // files are candidates from PATH
  std::vector<std::string> env_texts;
  std::vector<char*> argv;
  std::vector<char*> script_argv;  // /bin/sh FILE ARGS..., for scripts without a #! line
  std::vector<char*> envp;
};

char* text_of(const std::string& text) { return const_cast<char*>(text.c_str()); }

ExecPlan plan_exec(const SpawnSetup& setup) {
  ExecPlan plan;
  plan.files = exec_candidates(setup.argv.at(0), setup.env);
  plan.searches = setup.argv[0].find('/') == std::string::npos;
  for (const auto& [name, value] : setup.env) plan.env_texts.push_back(name + "=" + value);
  for (const std::string& text : plan.env_texts) plan.envp.push_back(text_of(text));
  for (const std::string& text : setup.argv) plan.argv.push_back(text_of(text));
  if (setup.short_name) plan.argv[0] += setup.argv[0].rfind('/') + 1;  // npos + 1 is 0.
  plan.argv.push_back(nullptr);
  plan.envp.push_back(nullptr);
  static const std::string kShell = "/bin/sh";
  plan.script_argv = {text_of(kShell), nullptr};
  plan.script_argv.insert(plan.script_argv.end(), plan.argv.begin() + 1, plan.argv.end());
  return plan;
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
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
    if (errno == EACCES && !plan.searches && is_directory(file)) errno = EISDIR;
    if (errno == ENOEXEC) {
      plan.script_argv[1] = text_of(file);
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

SpawnResult become_rank(const SpawnSetup& setup, ExecPlan& plan, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // Otherwise the parent died before prctl(). 0: it is outside of the PID namespace.
  if (const pid_t now = ::getppid(); now != parent && now != 0) ::_exit(1);
  if (setup.on_terminal) {
    ::setsid();
    ::ioctl(setup.stdout_fd, TIOCSCTTY, 0);
  } else {
    ::setpgid(0, 0);
  }
  ::dup2(setup.stdin_fd >= 0 ? setup.stdin_fd : ::open("/dev/null", O_RDONLY), 0);
  ::dup2(setup.stdout_fd, 1);
  ::dup2(setup.stderr_fd, 2);
  // exec closes the report pipe and all other descriptors.
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  for (const int fd : {setup.pmi_fd, setup.channel_fd})
    if (fd >= 0) ::fcntl(fd, F_SETFD, 0);
  if (setup.umask != Spec::kOwnUmask) ::umask(static_cast<mode_t>(setup.umask));
  for (const LimitToSet& limit : setup.limits)
    ::setrlimit(static_cast<__rlimit_resource>(limit.resource), &limit.value);
  if (!bind_to(setup)) return {0, Exited::Stage::bind, errno};
  if (!setup.cwd.empty() && ::chdir(setup.cwd.c_str()) != 0 &&
      !(setup.cwd_or_root && enter_root(setup.cwd, 2)))
    return {0, Exited::Stage::chdir, errno};
  forget_handlers();
  if (setup.suspended && ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
    return {0, Exited::Stage::hold, errno};
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  return {0, Exited::Stage::exec, exec_first(plan)};
}

/// Reads `size` bytes from the report pipe; returns false at its end.
bool read_report(int pipe, void* into, std::size_t size) {
  ssize_t got = 0;
  while ((got = ::read(pipe, into, size)) < 0 && errno == EINTR) {
  }
  return got == static_cast<ssize_t>(size);
}

/// Waits for the exec of a traced process, and lets go of it with SIGSTOP: the program then has not
/// run yet, and a debugger can attach. Returns also when the process has ended; it stays a zombie.
void stop_after_exec(pid_t pid) {
  siginfo_t seen{};
  while (true) {
    if (::waitid(P_PID, static_cast<id_t>(pid), &seen, WSTOPPED | WEXITED | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (seen.si_code != CLD_TRAPPED) return;
    const bool exec = seen.si_status == SIGTRAP;
    const long signo = exec ? SIGSTOP : seen.si_status;
    ::ptrace(exec ? PTRACE_DETACH : PTRACE_CONT, pid, nullptr, signo);
    if (exec) return;
  }
}

/// Returns stage `fork` if the new process has not reached its first line.
SpawnResult try_to_spawn(const SpawnSetup& setup, ExecPlan& plan, int cgroup_fd) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {0, Exited::Stage::fork, errno};
  const UniqueFd report_read(ends[0]);
  UniqueFd report_write(ends[1]);
  const pid_t self = ::getpid();
  const pid_t pid = fork_into(cgroup_fd);
  if (pid < 0) return {0, Exited::Stage::fork, errno};
  if (pid == 0) {
    const char alive = 1;
    (void)!::write(report_write.get(), &alive, sizeof alive);
    const SpawnResult failure = become_rank(setup, plan, self);
    (void)!::write(report_write.get(), &failure, sizeof failure);
    ::_exit(127);
  }
  report_write.reset();
  char alive = 0;
  SpawnResult failure{0, Exited::Stage::fork, EAGAIN};
  if (read_report(report_read.get(), &alive, sizeof alive)) {
    if (setup.suspended) stop_after_exec(pid);
    if (!read_report(report_read.get(), &failure, sizeof failure))
      return {pid, Exited::Stage::none, 0};
  }
  ::waitpid(pid, nullptr, 0);
  return failure;
}

}  // namespace

SpawnResult spawn_rank(const SpawnSetup& setup) {
  ExecPlan plan = plan_exec(setup);
  const SpawnResult result = try_to_spawn(setup, plan, setup.cgroup_fd);
  // Linux 6.14 and later kill a process that is cloned into another cgroup from one on which
  // cgroup.kill was once used.
  if (result.stage != Exited::Stage::fork || setup.cgroup_fd < 0) return result;
  return try_to_spawn(setup, plan, -1);
}

}  // namespace ds::launcher
