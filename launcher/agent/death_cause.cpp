#include "launcher/agent/death_cause.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>

#include "engine/base/unique_fd.h"
#include "engine/base/units.h"
#include "launcher/agent/process_tree.h"

namespace ds::launcher {
namespace {

/// Containers get less by default (Docker: 64 MiB), and data loaders fill it.
constexpr std::uint64_t kSmallShm = std::uint64_t{1} << 30;

std::string bytes_text(std::uint64_t bytes) {
  return format_bytes(static_cast<std::int64_t>(bytes));
}

/// Returns the value of "anon-rss:1234kB" in a line of the kernel, in bytes.
std::optional<std::uint64_t> anonymous_memory(std::string_view line) {
  constexpr std::string_view kName = "anon-rss:";
  const std::size_t at = line.find(kName);
  std::uint64_t kilobytes = 0;
  if (at == std::string_view::npos) return std::nullopt;
  const char* const begin = line.data() + at + kName.size();
  if (std::from_chars(begin, line.data() + line.size(), kilobytes).ec != std::errc())
    return std::nullopt;
  return kilobytes * 1024;
}

std::string out_of_memory(const DeathFacts& facts) {
  const bool by_cgroup =
      facts.kernel_line.empty() || facts.kernel_line.find("emory cgroup") != std::string::npos;
  std::string text = "out of memory: killed by the kernel";
  if (const auto held = anonymous_memory(facts.kernel_line))
    text += fmt::format(" while it used {}", bytes_text(*held));
  if (!by_cgroup) return text + "; the memory of the node was full";
  if (facts.memory_limit)
    text += fmt::format("; the limit of its cgroup is {}", bytes_text(*facts.memory_limit));
  return text;
}

/// Returns where the kernel put the core file, by its pattern; '*' replaces what is not known.
std::string core_place(const DeathFacts& facts) {
  const std::string& pattern = facts.core_pattern;
  if (pattern.starts_with('|')) {
    if (pattern.find("systemd-coredump") != std::string::npos)
      return fmt::format("core dumped: `coredumpctl info {}` on the node", facts.pid);
    return fmt::format("core passed to {}", pattern.substr(1, pattern.find(' ') - 1));
  }
  std::string name;
  bool with_pid = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char what = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] != '%' || what == '\0') {
      name += pattern[i];
      continue;
    }
    ++i;
    with_pid = with_pid || what == 'p';
    name += what == 'p' || what == 'P' ? std::to_string(facts.pid) : what == '%' ? "%" : "*";
  }
  if (facts.core_uses_pid && !with_pid) name += "." + std::to_string(facts.pid);
  if (name.empty()) return "core dumped";
  if (!name.starts_with('/') && !facts.cwd.empty()) name = facts.cwd + "/" + name;
  return "core dumped: " + name;
}

std::string bus_error(const DeathFacts& facts) {
  if (facts.shm_bytes == 0) return {};
  const std::string size = bytes_text(facts.shm_bytes);
  if (facts.shm_free < facts.shm_bytes / 20) return fmt::format("/dev/shm is full ({})", size);
  if (facts.shm_bytes > kSmallShm) return {};
  return fmt::format("possibly a full /dev/shm: it holds only {}", size);
}

void append(std::string& text, const std::string& more) {
  if (!text.empty() && !more.empty()) text += "; ";
  text += more;
}

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

}  // namespace

std::string describe_death(const DeathFacts& facts) {
  const int status = facts.wait_status;
  if (status == 0) return {};
  const int signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signo == SIGKILL && (facts.oom_kills > 0 || !facts.kernel_line.empty()))
    return out_of_memory(facts);
  std::string text;
  if (facts.oom_kills > 0)
    text = fmt::format(
        "out of memory: the kernel killed {} of its cgroup",
        facts.oom_kills == 1 ? "another process" : fmt::format("{} processes", facts.oom_kills));
  if (signo == SIGBUS) append(text, bus_error(facts));
  if (signo != 0 && WCOREDUMP(status)) append(text, core_place(facts));
  return text;
}

bool names_oom_victim(std::string_view line, pid_t pid) {
  // "Killed process 12 (python) ...", older kernels "Kill process 12 (python) ...".
  for (const std::string_view words : {"Killed process ", "Kill process "}) {
    const std::size_t at = line.find(words);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(at + words.size());
    const std::string number = std::to_string(pid);
    return rest.starts_with(number + ' ') || rest.starts_with(number + ',');
  }
  return false;
}

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
  struct statvfs shm {};
  if (signo == SIGBUS && ::statvfs("/dev/shm", &shm) == 0) {
    facts.shm_bytes = static_cast<std::uint64_t>(shm.f_blocks) * shm.f_frsize;
    facts.shm_free = static_cast<std::uint64_t>(shm.f_bavail) * shm.f_frsize;
  }
  if (signo != 0 && WCOREDUMP(wait_status)) {
    facts.core_pattern = first_line_of("/proc/sys/kernel/core_pattern");
    facts.core_uses_pid = first_line_of("/proc/sys/kernel/core_uses_pid") == "1";
    std::error_code unknown;
    if (cwd.empty()) facts.cwd = std::filesystem::current_path(unknown).string();
  }
  return describe_death(facts);
}

}  // namespace ds::launcher
