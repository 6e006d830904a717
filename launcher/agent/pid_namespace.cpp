// unshare, maps of a user namespace where one is needed, and the fork of init.
#include "launcher/agent/pid_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <sstream>
#include <system_error>

#include "engine/base/error.h"
#include "launcher/agent/namespace_init.h"

namespace ds::launcher {
namespace {

constexpr std::chrono::seconds kInitLimit{5};

[[noreturn]] void refuse(const std::string& what, int error_number) {
  // What the kernel calls a full device is its own limit of namespaces.
  const std::string why = error_number == ENOSPC ? "the system allows no more of them"
                                                 : std::generic_category().message(error_number);
  throw Error(
      ErrorKind::system, fmt::format("cannot give the ranks a PID namespace: {}: {}", what, why),
      "run as root, or allow user namespaces (user.max_user_namespaces, user.max_pid_namespaces, "
      "kernel.unprivileged_userns_clone, AppArmor), or leave out --isolate pid");
}

bool write_file(const std::string& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// Everybody keeps the number they have; other users have none.
void keep_own_ids(uid_t user, gid_t group) {
  write_file("/proc/self/setgroups", "deny");  // Else the kernel refuses the next but one.
  if (!write_file("/proc/self/uid_map", fmt::format("{} {} 1", user, user)))
    refuse("uid_map", errno);
  if (!write_file("/proc/self/gid_map", fmt::format("{} {} 1", group, group)))
    refuse("gid_map", errno);
}

/// 0, or why not.
int unshare_namespaces(Isolate wish) {
  constexpr int kBoth = CLONE_NEWPID | CLONE_NEWNS;
  if (::unshare(kBoth) == 0) return 0;
  if (errno != EPERM || wish != Isolate::required) return errno;
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(kBoth | CLONE_NEWUSER) != 0) return errno;
  keep_own_ids(user, group);
  return 0;
}

/// Children are born in this process's own namespace again.
void give_up_namespace(const UniqueFd& own) {
  if (::setns(own.get(), CLONE_NEWPID) != 0) refuse("setns", errno);
}

/// One line of an answer, or nothing at the deadline or the end of `socket`.
std::optional<InitAnswer> read_answer(int socket, Deadline deadline) {
  pollfd ready{socket, POLLIN, 0};
  while (::poll(&ready, 1, static_cast<int>(deadline.remaining().count())) < 0 && errno == EINTR) {
  }
  InitAnswer answer;
  if (::recv(socket, &answer, sizeof answer, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof answer))
    return std::nullopt;
  return answer;
}

}  // namespace

void PidNamespace::enter(Isolate wish) {
  if (entered() || wish == Isolate::none) return;
  // A user namespace takes setuid programs and the ids of others away: only who asks gets one.
  if (wish == Isolate::if_free && ::geteuid() != 0) return;
  const UniqueFd own(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
  const int why = unshare_namespaces(wish);
  if (why != 0 && wish == Isolate::required) refuse("unshare", why);
  if (why != 0) return;
  keep_proc();  // Init puts another one over it.
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) refuse("socket", errno);
  control_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t agent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) refuse("fork", errno);
  if (pid == 0) ::_exit(run_namespace_init(theirs.get(), agent));
  const auto answer = read_answer(control_.get(), Deadline::after(kInitLimit));
  if (answer && answer->error_number == 0) {
    init_ = pid;
    watch_ = StopWatch(ProcessRef::of(pid));
    return;
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  if (wish == Isolate::required) refuse("/proc", answer ? answer->error_number : ETIMEDOUT);
  give_up_namespace(own);
}

bool PidNamespace::clear(Deadline deadline) {
  const InitOrder order = InitOrder::clear;
  if (::send(control_.get(), &order, sizeof order, MSG_NOSIGNAL) < 0) return false;
  const auto answer = read_answer(control_.get(), deadline);
  return answer && answer->error_number == 0;
}

void PidNamespace::kill() {
  ending_ = true;
  if (init_ != 0) ::kill(init_, SIGKILL);
}

pid_t pid_of_rank(pid_t shim, pid_t inner) {
  for (const pid_t child : children_of(shim)) {
    // "NSpid:  4711  12": outermost first.
    std::istringstream status(status_of(child));
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("NSpid:")) continue;
      if (std::stol("0" + line.substr(line.find_last_of(" \t") + 1)) == inner) return child;
    }
  }
  return inner;
}

}  // namespace ds::launcher
