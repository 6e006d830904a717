// A loop over two descriptors. Whatever loses its parent in the namespace and has no shim above
// comes here.
#include "launcher/agent/namespace_init.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "engine/base/unique_fd.h"
#include "launcher/agent/link.h"
#include "launcher/agent/process_tree.h"

namespace ds::launcher {
namespace {

/// Returns 0 or an errno. Mounts made outside later are still seen inside, not the other way round.
int mount_own_proc() {
  if (::mount(nullptr, "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0) return errno;
  const bool mounted =
      ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
  return mounted ? 0 : errno;
}

/// Pids go on from where the agent's is: programs that make names of files in /tmp or /dev/shm of
/// them must not meet those of another job.
void begin_with_pid(pid_t pid) {
  const UniqueFd file(::open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(pid);
  if (file) (void)!::write(file.get(), text.data(), text.size());
}

void reap() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

/// Children of the agent (shims) are reaped by it.
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
  const InitAnswer text{error_number};
  (void)!::send(control, &text, sizeof text, MSG_NOSIGNAL);
}

}  // namespace

int run_namespace_init(int control, pid_t agent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  forget_proc();
  forget_handlers();
  std::vector<int> kept = {control};
  keep_only(kept);
  const int failure = mount_own_proc();
  if (failure == 0) set_process_title(kInitName, "dsinit");
  if (failure == 0) begin_with_pid(agent);
  // If the agent has died before the first line, nobody hears this.
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
    InitOrder order = InitOrder::clear;
    const ssize_t got = ::recv(kept[0], &order, sizeof order, MSG_DONTWAIT);
    if (got == 0) return 1;  // The agent is gone, and so is everything here with this process.
    if (got == static_cast<ssize_t>(sizeof order)) answer(kept[0], kill_all_others());
  }
}

}  // namespace ds::launcher
