#include "runner/report_command.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/tool_options.h"
#include "engine/base/units.h"
#include "engine/report/page_text.h"
#include "engine/report/read_run.h"
#include "engine/report/report_data.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

std::int64_t now_s() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

/// Letters and digits that nobody can predict who writes files into a run folder.
std::string random_nonce() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

/// Returns the given folders without those that are not runs, which `runs/*` names too, and says
/// which these are. If no folder is a run, or with --names, all are returned, for read_run() to
/// refuse.
std::vector<std::string> runs_of(const ToolWords& words) {
  std::vector<std::string> runs, others;
  for (const std::string& path : words.others)
    (report::is_other_folder(path) ? others : runs).push_back(path);
  if (runs.empty() || others.empty() || words.has("--names")) return words.others;
  fmt::print(stderr, "dsrunner: left out, because {} no metrics.jsonl: {}\n",
             others.size() == 1 ? "it has" : "they have", fmt::join(others, ", "));
  return runs;
}

std::vector<std::string> names_of(const ToolWords& words, const std::vector<std::string>& paths) {
  if (!words.has("--names")) return report::distinct_names(paths);
  const std::string given = words.value("--names");
  std::vector<std::string> names;
  for (const std::string_view name : split(given, ',')) names.emplace_back(name);
  if (names.size() == paths.size()) return names;
  throw Error(ErrorKind::usage,
              fmt::format("--names has {} names for {} runs", names.size(), paths.size()),
              "give one name for each run, separated by commas");
}

/// Errors: Error{usage}: the file exists and is not a report.
void require_replaceable(const std::string& path) {
  std::error_code status;
  if (!fs::exists(path, status)) return;
  std::string start(report::kPageMark.size(), '\0');
  if (fs::is_regular_file(path, status)) {
    std::ifstream(path, std::ios::binary).read(start.data(), std::ssize(start));
    if (start == report::kPageMark) return;
  }
  throw Error(ErrorKind::usage,
              fmt::format("--out {}: it exists and is not a report of dslaunch", path),
              "name another file, or remove this one first");
}

/// Writes a temporary file beside `path` and renames it, so that a browser never sees half a page.
void write_page(const std::string& path, const std::string& page) {
  const std::string partial = path + ".partial";
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file << page;
  file.close();
  if (!file)
    throw_errno(fmt::format("{} cannot be written", partial), errno,
                "check the folder of --out and the free space on its disk");
  std::error_code status;
  fs::rename(partial, path, status);
  if (status) throw_errno(fmt::format("{} cannot be written", path), status.value());
}

void warn_about(const report::RunFiles& files) {
  for (const report::RunPart& part : files.parts)
    if (part.bad.count > 0)
      fmt::print(stderr, "dsrunner: warning: {}: {} damaged line{} left out, the first at {}\n",
                 files.path, part.bad.count, part.bad.count == 1 ? "" : "s", part.bad.first);
}

}  // namespace

int run_report(const std::vector<std::string>& words) {
  const ToolWords read("report", words);
  if (read.others.empty())
    throw Error(ErrorKind::usage, "no run folder given", "dslaunch report RUN...");
  const std::string out = read.has("--out") ? read.value("--out") : "report.html";
  if (!read.has("--json")) require_replaceable(out);
  const std::vector<std::string> runs = runs_of(read);
  std::vector<std::string> paths;
  for (const std::string& path : runs) {
    std::error_code status;
    const fs::path whole = fs::canonical(path, status);
    paths.push_back(status ? path : whole.string());  // read_run() reports what is wrong
  }
  const std::vector<std::string> names = names_of(read, paths);
  report::ReportData data(paths.size(), now_s());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const report::ReportRun run{names[i], report::read_run(runs[i])};
    warn_about(run.files);
    data.add(run);
  }
  if (!data.has_steps())
    throw Error(ErrorKind::config, fmt::format("{} has no logged step yet", fmt::join(runs, ", ")),
                "the first line of metrics.jsonl appears after the first step");
  const std::string json = data.json();
  if (read.has("--json")) {
    fmt::print("{}\n", json);
    return 0;
  }
  const std::string title = fmt::format("Report: {}", fmt::join(names, ", "));
  const std::string page = report::report_page(title, json, random_nonce());
  write_page(out, page);
  fmt::print("{}: {} run{}, {}\n", out, names.size(), names.size() == 1 ? "" : "s",
             format_bytes(std::ssize(page)));
  return 0;
}

}  // namespace ds
