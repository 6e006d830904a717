// ReportRun and report_json(): the data of a report as JSON, bounded in size (pure).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/report/read_run.h"

namespace ds::report {

struct ReportRun {
  std::string name;
  RunFiles files;
};

/// Collects the runs of one report one by one, so that the lines of only one run are in memory.
class ReportData {
 public:
  /// `runs`: how many will be added; they share the points of a page. `now`: seconds since 1970.
  ReportData(std::size_t runs, std::int64_t now);
  ~ReportData();
  ReportData(const ReportData&) = delete;
  ReportData& operator=(const ReportData&) = delete;

  void add(const ReportRun& run);
  /// Returns whether any run has a logged step.
  [[nodiscard]] bool has_steps() const;
  /// Returns one JSON object: "made", "version", "runs", "differences". Characters that end or
  /// begin HTML elements are written as \u escapes, so that it can stand in a script element.
  [[nodiscard]] std::string json() const;

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

/// Returns distinct names for runs: the last component of each path, with as many folders above it
/// as it takes.
std::vector<std::string> distinct_names(const std::vector<std::string>& paths);

}  // namespace ds::report
