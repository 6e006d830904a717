// Options, a progress line, threads: what the tools for checkpoints share.
#include "runner/tool_words.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace ds {
namespace {

constexpr int kMostThreads = 16;

/// Reads words[index]; returns the index of the next one.
std::size_t read_option(std::string_view tool, const std::vector<std::string>& words,
                        std::size_t index, std::span<const ToolOption> table, ToolWords& into) {
  const std::string_view word = words[index];
  const std::size_t equal = word.find('=');
  const std::string name(word.substr(0, equal));
  const bool has_value = equal != std::string_view::npos;
  const auto option = std::ranges::find(table, name, &ToolOption::name);
  if (option == table.end() || (!option->takes_value && has_value))
    throw Error(ErrorKind::usage, fmt::format("unknown option '{}'", word),
                fmt::format("dslaunch {} --help lists them", tool));
  if (option->takes_value && !has_value && index + 1 == words.size())
    throw Error(ErrorKind::usage, fmt::format("{} needs a value", name));
  std::string value;
  if (option->takes_value)
    value = has_value ? std::string(word.substr(equal + 1)) : words[index + 1];
  if (!into.options.emplace(name, std::move(value)).second)
    throw Error(ErrorKind::usage, fmt::format("{} is given twice", name));
  return index + (option->takes_value && !has_value ? 2 : 1);
}

std::int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

std::string ToolWords::value(std::string_view option) const {
  const auto found = options.find(option);
  return found == options.end() ? std::string() : found->second;
}

ToolWords read_tool_words(std::string_view tool, const std::vector<std::string>& words,
                          std::span<const ToolOption> table) {
  ToolWords read;
  for (std::size_t index = 0; index < words.size();) {
    if (words[index].starts_with("--")) {
      index = read_option(tool, words, index, table, read);
    } else {
      read.others.push_back(words[index++]);
    }
  }
  return read;
}

ToolProgress::ToolProgress(std::string verb)
    : verb_(std::move(verb)), is_terminal_(::isatty(STDERR_FILENO) == 1), last_ms_(now_ms()) {}

ToolProgress::~ToolProgress() {
  if (shown_ > 0) fmt::print(stderr, "\r{:{}}\r", "", shown_);
}

void ToolProgress::show(std::int64_t done, std::int64_t bytes) {
  constexpr std::int64_t kBetween = 100;
  if (!is_terminal_ || now_ms() - last_ms_ < kBetween) return;
  last_ms_ = now_ms();
  const std::string line =
      fmt::format("{} {} of {}", verb_, format_bytes(done), format_bytes(bytes));
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
