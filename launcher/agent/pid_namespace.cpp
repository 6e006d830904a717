#include "launcher/agent/pid_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "launcher/agent/link.h"

namespace ds::launcher {
namespace {

constexpr std::chrono::seconds kInitLimit{5};
constexpr const char* kInitName = "dsinit";

/// The only order that init takes: kill all others. Init answers it with an errno or 0.
constexpr int kClear = 1;

bool write_file(const char* path, const std::string& text) {
  const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// Returns 0 or an errno. Later mounts of the node are seen inside; mounts made inside stay inside.
int mount_own_proc() {
  if (::mount(nullptr, "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0) return errno;
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  return ::mount("proc", "/proc", "proc", kFlags, nullptr) == 0 ? 0 : errno;
}

void reap() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

/// Kills all processes inside except this one. Shims are children of the agent, which reaps them.
int kill_all_others() {
  const Deadline deadline = Deadline::after(kKillLimit);
  while (::kill(-1, SIGKILL) == 0) {
    reap();
    if (deadline.passed()) return ETIMEDOUT;
    ::usleep(200);
  }
  return 0;
}

void answer(int control, int error_number) {
  (void)!::send(control, &error_number, sizeof error_number, MSG_NOSIGNAL);
}

/// Runs init: mounts /proc, reaps, and kills all others by order. Called after fork, with all
/// signals blocked. Answers on `control` (SOCK_SEQPACKET) when it is ready and after each order.
/// Gets SIGKILL when its parent dies. `agent` is the pid of the parent in the parent's namespace.
int run_namespace_init(int control, pid_t agent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  forget_proc();
  forget_handlers();
  std::vector<int> kept = {control};
  keep_only(kept);
  const int failure = mount_own_proc();
  if (failure == 0) set_process_title(kInitName, "dsinit");
  // Pids inside continue from the agent's: programs name files in /tmp and /dev/shm by their pid,
  // and two jobs must not use the same names.
  if (failure == 0) write_file("/proc/sys/kernel/ns_last_pid", std::to_string(agent));
  // If the agent died before PR_SET_PDEATHSIG, this answer fails and recv() below returns 0.
  answer(kept[0], failure);
  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGCHLD);
  const UniqueFd signals(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  while (true) {
    pollfd ready[] = {{signals.get(), POLLIN, 0}, {kept[0], POLLIN, 0}};
    ::poll(ready, 2, -1);
    signalfd_siginfo info;
    while (::read(signals.get(), &info, sizeof info) > 0) {
    }
    reap();
    int order = 0;
    const ssize_t got = ::recv(kept[0], &order, sizeof order, MSG_DONTWAIT);
    if (got == 0) return 1;  // The agent has died. The kernel now kills everything inside.
    if (got > 0) answer(kept[0], kill_all_others());
  }
}

[[noreturn]] void refuse(const std::string& what, int error_number) {
  // unshare() returns ENOSPC at the limit of namespaces.
  const std::string why = error_number == ENOSPC ? "the system allows no more of them"
                                                 : std::generic_category().message(error_number);
  throw Error(
      ErrorKind::system, fmt::format("cannot give the ranks a PID namespace: {}: {}", what, why),
      "run as root, or allow user namespaces (user.max_user_namespaces, user.max_pid_namespaces, "
      "kernel.unprivileged_userns_clone, AppArmor), or leave out --isolate pid");
}

/// Returns 0 or an errno.
int unshare_namespaces(Isolate mode) {
  constexpr int kBoth = CLONE_NEWPID | CLONE_NEWNS;
  if (::unshare(kBoth) == 0) return 0;
  if (errno != EPERM || mode != Isolate::required) return errno;
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(kBoth | CLONE_NEWUSER) != 0) return errno;
  // Maps this user and group to themselves. Other ids have no mapping.
  write_file("/proc/self/setgroups", "deny");  // gid_map requires it.
  if (!write_file("/proc/self/uid_map", fmt::format("{} {} 1", user, user)))
    refuse("uid_map", errno);
  if (!write_file("/proc/self/gid_map", fmt::format("{} {} 1", group, group)))
    refuse("gid_map", errno);
  return 0;
}

/// Returns an answer of init; nothing at the deadline or the end of `socket`.
std::optional<int> read_answer(int socket, Deadline deadline) {
  pollfd ready{socket, POLLIN, 0};
  while (::poll(&ready, 1, static_cast<int>(deadline.remaining().count())) < 0 && errno == EINTR) {
  }
  int answer = 0;
  const bool came = ::recv(socket, &answer, sizeof answer, MSG_DONTWAIT) > 0;
  return came ? std::optional(answer) : std::nullopt;
}

}  // namespace

void PidNamespace::enter(Isolate mode) {
  if (entered() || mode == Isolate::none) return;
  // A user namespace breaks setuid programs and foreign ids, so it is made only if required.
  if (mode == Isolate::if_free && ::geteuid() != 0) return;
  const UniqueFd own(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
  const int why = unshare_namespaces(mode);
  if (why != 0 && mode == Isolate::required) refuse("unshare", why);
  if (why != 0) return;
  keep_proc();  // Init mounts another /proc over this one.
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) refuse("socket", errno);
  control_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t agent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) refuse("fork", errno);
  if (pid == 0) ::_exit(run_namespace_init(theirs.get(), agent));
  const auto answer = read_answer(control_.get(), Deadline::after(kInitLimit));
  if (answer == 0) {
    init_ = pid;
    watch_ = StopWatch(ProcessRef::of(pid));
    return;
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  if (mode == Isolate::required) refuse("/proc", answer.value_or(ETIMEDOUT));
  // Later children of this process live in its own namespace again.
  if (::setns(own.get(), CLONE_NEWPID) != 0) refuse("setns", errno);
}

bool PidNamespace::clear(Deadline deadline) {
  if (::send(control_.get(), &kClear, sizeof kClear, MSG_NOSIGNAL) < 0) return false;
  return read_answer(control_.get(), deadline) == 0;
}

void PidNamespace::kill() {
  ending_ = true;
  if (init_ != 0) ::kill(init_, SIGKILL);
}

pid_t pid_of_rank(pid_t shim, pid_t inner) {
  for (const pid_t child : children_of(shim)) {
    // "NSpid:  4711  12": outermost first.
    const std::string status = read_proc(child, "status");
    for (const std::string_view line : split(status, '\n'))
      if (line.starts_with("NSpid:") && line.ends_with(fmt::format("\t{}", inner))) return child;
  }
  return inner;
}

}  // namespace ds::launcher
