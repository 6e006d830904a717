#include "launcher/agent/death_cause.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <charconv>
#include <csignal>

#include "engine/base/units.h"

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
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      name += pattern[i];
      continue;
    }
    const char what = pattern[++i];
    with_pid = with_pid || what == 'p';
    if (what == '%') name += '%';
    if (what == 'p' || what == 'P') name += std::to_string(facts.pid);
    if (what != '%' && what != 'p' && what != 'P') name += '*';
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

}  // namespace

std::string describe_death(const DeathFacts& facts) {
  const int status = facts.wait_status;
  const int signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool failed = signo != 0 || WEXITSTATUS(status) != 0;
  if (!failed) return {};
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
    return rest.starts_with(number) && !rest.substr(number.size()).empty() &&
           (rest[number.size()] == ' ' || rest[number.size()] == ',');
  }
  return false;
}

}  // namespace ds::launcher
