#include "launcher/agent/autopsy.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>

#include "engine/base/unique_fd.h"
#include "launcher/agent/proc_files.h"

namespace ds::launcher {
namespace {

constexpr std::chrono::milliseconds kLogLimit{100};
/// The clock of the kernel's log and the steady clock drift apart.
constexpr std::chrono::minutes kClockDrift{1};

/// Returns the last line of the kernel's log after `since` that names `pid` as an OOM victim.
/// Each read gives one record, "PRIORITY,NUMBER,MICROSECONDS,FLAGS;TEXT".
std::string kernel_line_about(pid_t pid, Clock::time_point since) {
  const UniqueFd log(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::string found;
  if (!log) return found;
  const auto earliest =
      std::chrono::duration_cast<std::chrono::microseconds>(since.time_since_epoch() - kClockDrift)
          .count();
  const Deadline deadline = Deadline::after(kLogLimit);
  std::array<char, 8192> record;
  while (!deadline.passed()) {
    const ssize_t got = ::read(log.get(), record.data(), record.size());
    if (got < 0 && errno == EPIPE)
      continue;  // The record was overwritten; the next read gives a later one.
    if (got <= 0) return found;
    const std::string_view line(record.data(), static_cast<std::size_t>(got));
    if (!names_oom_victim(line, pid)) continue;
    const std::size_t time = line.find(',', line.find(',') + 1) + 1;
    long long at = 0;
    std::from_chars(line.data() + time, line.data() + line.size(), at);
    if (at >= earliest) found = line.substr(line.find(';') + 1);
  }
  return found;
}

std::string first_line(const char* name) {
  const std::string text = read_proc(name);
  return text.substr(0, text.find('\n'));
}

void add_core_facts(DeathFacts& facts) {
  facts.core_pattern = first_line("sys/kernel/core_pattern");
  facts.core_uses_pid = first_line("sys/kernel/core_uses_pid") == "1";
  if (!facts.cwd.empty()) return;
  std::array<char, 4096> path{};
  if (::getcwd(path.data(), path.size()) != nullptr) facts.cwd = path.data();
}

void add_shm_facts(DeathFacts& facts) {
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) != 0) return;
  facts.shm_bytes = static_cast<std::uint64_t>(shm.f_blocks) * shm.f_frsize;
  facts.shm_free = static_cast<std::uint64_t>(shm.f_bavail) * shm.f_frsize;
}

}  // namespace

void Autopsy::begin() {
  started_ = Clock::now();
  cgroup_ = MemoryCgroup::find();
  kills_before_ = cgroup_.kills();
}

std::string Autopsy::explain(int wait_status, pid_t pid, const std::string& cwd) const {
  if (wait_status == 0) return {};
  DeathFacts facts{.wait_status = wait_status, .pid = pid, .cwd = cwd};
  const auto kills = cgroup_.kills();
  if (kills && kills_before_ && *kills > *kills_before_) {
    facts.oom_kills = *kills - *kills_before_;
    facts.memory_limit = cgroup_.limit();
  }
  const int signo = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  if (signo == SIGKILL) facts.kernel_line = kernel_line_about(pid, started_);
  if (signo == SIGBUS) add_shm_facts(facts);
  if (signo != 0 && WCOREDUMP(wait_status)) add_core_facts(facts);
  return describe_death(facts);
}

}  // namespace ds::launcher
