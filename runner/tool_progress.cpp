#include "runner/tool_progress.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "engine/base/units.h"

namespace ds {
namespace {

constexpr int kMostThreads = 16;

std::int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

ToolProgress::ToolProgress(std::string verb, std::string unit)
    : verb_(std::move(verb)),
      unit_(std::move(unit)),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      last_ms_(now_ms()) {}

ToolProgress::~ToolProgress() {
  if (shown_ > 0) fmt::print(stderr, "\r{:{}}\r", "", shown_);
}

void ToolProgress::show(std::int64_t done, std::int64_t all) {
  constexpr std::int64_t kBetween = 100;
  if (!is_terminal_ || now_ms() - last_ms_ < kBetween) return;
  last_ms_ = now_ms();
  const std::string line =
      unit_.empty() ? fmt::format("{} {} of {}", verb_, format_bytes(done), format_bytes(all))
                    : fmt::format("{} {} of {} {}", verb_, done, all, unit_);
  fmt::print(stderr, "\r{:<{}}", line, shown_);
  std::fflush(stderr);
  shown_ = line.size();
}

int reading_threads() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::clamp(CPU_COUNT(&cores), 1, kMostThreads);
}

}  // namespace ds
