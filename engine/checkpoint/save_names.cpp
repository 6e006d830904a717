// Formats and parses names of checkpoint folders. Does not access the disk.
#include "engine/checkpoint/save_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "engine/base/error.h"
#include "engine/checkpoint/save_folder.h"

namespace ds {
namespace {

constexpr std::string_view kPrefix = "step-";
constexpr std::size_t kDigits = 8;

constexpr std::array<std::pair<std::string_view, SaveKind>, 4> kKinds{
    {{".tmp-", SaveKind::unfinished},
     {".replaced-", SaveKind::replaced},
     {".removed-", SaveKind::removed},
     {".set-aside", SaveKind::set_aside}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string step_name(std::int64_t step) {
  DS_ASSERT(step >= 0);
  return fmt::format("{}{:0{}}", kPrefix, step, kDigits);
}

std::optional<SaveName> parse_save_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const char* first = name.data() + kPrefix.size();
  const char* last = std::find_if_not(first, name.data() + name.size(), is_digit);
  SaveName parsed;
  const auto read = std::from_chars(first, last, parsed.step);
  if (read.ec != std::errc() || read.ptr != last) return std::nullopt;
  const std::string whole = step_name(parsed.step);
  if (!name.starts_with(whole)) return std::nullopt;  // digits in another form: 0040, 000000040
  const std::string_view rest = name.substr(whole.size());
  if (rest.empty()) return parsed;
  for (const auto& [mark, kind] : kKinds) {
    if (!rest.starts_with(mark)) continue;
    parsed.kind = kind;
    return parsed;
  }
  return std::nullopt;
}

std::optional<std::int64_t> step_of(std::string_view name) {
  const std::optional<SaveName> parsed = parse_save_name(name);
  if (!parsed || parsed->kind != SaveKind::complete) return std::nullopt;
  return parsed->step;
}

std::string unfinished_name(std::int64_t step, std::uint64_t epoch) {
  return fmt::format("{}.tmp-{:x}", step_name(step), epoch);
}

std::string replaced_name(std::int64_t step, std::uint64_t epoch) {
  return fmt::format("{}.replaced-{:x}", step_name(step), epoch);
}

std::string removed_name(std::int64_t step, std::uint64_t epoch) {
  return fmt::format("{}.removed-{:x}", step_name(step), epoch);
}

std::string set_aside_name(std::int64_t step, int number) {
  const std::string name = step_name(step) + ".set-aside";
  return number == 1 ? name : fmt::format("{}-{}", name, number);
}

std::string chunk_name(int rank) { return fmt::format("rank-{:05}.chunk", rank); }
std::string part_name(int rank) { return fmt::format("rank-{:05}.part", rank); }

std::vector<std::int64_t> surplus(std::vector<std::int64_t> steps, const KeepPolicy& policy) {
  std::sort(steps.begin(), steps.end());
  const auto count = static_cast<std::int64_t>(steps.size());
  if (policy.keep <= 0 || count <= policy.keep) return {};
  steps.resize(static_cast<std::size_t>(count - policy.keep));
  if (policy.major_every > 0) {
    std::erase_if(steps, [&](std::int64_t step) { return step % policy.major_every == 0; });
  }
  return steps;
}

}  // namespace ds
