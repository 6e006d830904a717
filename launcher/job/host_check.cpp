#include "launcher/job/host_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/split.h"
#include "engine/base/training_facts.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kNamedSettings = 3;
constexpr std::size_t kShownValue = 80;

/// Returns a value as it is shown; values come from other machines.
std::string shown(const std::string& value) {
  return value.empty() ? "not set" : printable(value.substr(0, kShownValue));
}

std::string difference_text(const std::vector<FactDifference>& differences) {
  const auto find = [&](std::string_view name) {
    return std::ranges::find(differences, name, &FactDifference::name);
  };
  if (const auto build = find("build"); build != differences.end())
    return fmt::format(
        "another build of dsrunner is there (id {}, the job has {}); install the same one there",
        shown(build->there), shown(build->here));
  if (const auto kernels = find("kernels"); kernels != differences.end())
    return fmt::format(
        "its processor or GPU computes with other instructions ('{}', the job with '{}'), which "
        "gives other bits; use the same kind of node, or start the job with a device.isa that all "
        "have",
        shown(kernels->there), shown(kernels->here));
  for (const char* name : {"data", "tokenizer"})
    if (const auto found = find(name); found != differences.end())
      return fmt::format(
          "its {} is not that of the job ({}, the job has {}); copy the same files there", name,
          shown(found->there), shown(found->here));
  std::string text = "its configuration is not that of the job (";
  for (std::size_t i = 0; i < std::min(kNamedSettings, differences.size()); ++i)
    text += fmt::format("{}{}: {}, the job has {}", i == 0 ? "" : "; ",
                        printable(differences[i].name), shown(differences[i].there),
                        shown(differences[i].here));
  if (differences.size() > kNamedSettings)
    text += fmt::format("; and {} more", differences.size() - kNamedSettings);
  return text + "); copy the same file there";
}

}  // namespace

std::string check_problem(std::string_view text) {
  constexpr std::string_view kName = "dsrunner: ";
  constexpr std::string_view kHint = "  hint: ";
  std::string problem;
  for (std::string_view line : split(text, '\n')) {
    const bool first = line.starts_with(kName);
    if (first && problem.empty()) problem = line.substr(kName.size());
    if (line.starts_with(kHint) && !problem.empty())
      return problem + "; " + std::string(line.substr(kHint.size()));
  }
  return problem;
}

std::string host_problem(const Checked& checked, std::string_view job_facts) {
  const RankEnd end = rank_end(checked.end);
  if (!end.status.success()) {
    const std::string said = check_problem(checked.errors);
    if (said.starts_with("unknown option"))
      return "an older build of dsrunner is there; install the same one there";
    if (!end.cause.empty()) return printable(end.cause);
    return printable(said.empty() || !end.note.empty()
                         ? "the check of its program failed: " + describe(end)
                         : said);
  }
  for (std::string_view line : split(checked.output, '\n')) {
    if (!line.starts_with(kFactsPrefix) || job_facts.empty()) continue;
    const auto differences = fact_differences(job_facts, line.substr(kFactsPrefix.size()));
    if (!differences.empty()) return difference_text(differences);
  }
  return {};
}

}  // namespace ds::launcher
