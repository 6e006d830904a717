// Verifies one checkpoint or compares two, and prints the report.
#include "runner/inspect_command.h"

#include <fmt/format.h>

#include <chrono>

#include "engine/base/error.h"
#include "engine/base/tool_options.h"
#include "engine/checkpoint/reader.h"
#include "engine/checkpoint/tools/choose.h"
#include "engine/checkpoint/tools/compare.h"
#include "engine/checkpoint/tools/report.h"
#include "engine/checkpoint/tools/verify.h"
#include "runner/tool_progress.h"

namespace ds {
namespace {

constexpr int kNotWhole = 1;

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

int inspect_one(const std::string& path, const ToolWords& words) {
  const std::string folder = checkpoint_at(path);
  const Manifest manifest = read_manifest(folder);
  InspectReport report{.folder = folder, .manifest = &manifest, .all = words.has("--all")};
  if (!words.has("--no-verify")) {
    const auto begun = std::chrono::steady_clock::now();
    ToolProgress progress("verified");
    report.verification = verify_pieces(
        folder, manifest, reading_threads(),
        [&progress](std::int64_t done, std::int64_t bytes) { progress.show(done, bytes); });
    report.seconds = seconds_since(begun);
  }
  fmt::print("{}", words.has("--json") ? inspect_json(report) : inspect_text(report));
  return report.verification && !report.verification->broken.empty() ? kNotWhole : 0;
}

int inspect_two(const std::string& a, const std::string& b, const ToolWords& words) {
  if (words.has("--no-verify"))
    throw Error(ErrorKind::usage, "--no-verify applies only to one checkpoint",
                "a comparison reads and verifies every piece of both checkpoints");
  Comparison comparison;
  {
    ToolProgress progress("compared");
    comparison = compare(
        Checkpoint::open(checkpoint_at(a)), Checkpoint::open(checkpoint_at(b)), reading_threads(),
        [&progress](std::int64_t done, std::int64_t bytes) { progress.show(done, bytes); });
  }
  fmt::print("{}", words.has("--json") ? comparison_json(comparison)
                                       : comparison_text(comparison, words.has("--all")));
  return comparison.is_equal() ? 0 : kNotWhole;
}

}  // namespace

int run_inspect(const std::vector<std::string>& words) {
  const ToolWords read("inspect", words);
  if (read.others.size() == 1) return inspect_one(read.others[0], read);
  if (read.others.size() == 2) return inspect_two(read.others[0], read.others[1], read);
  throw Error(ErrorKind::usage,
              read.others.empty() ? "no checkpoint given" : "more than two checkpoints given",
              "dslaunch inspect CHECKPOINT, or dslaunch inspect A B");
}

}  // namespace ds
