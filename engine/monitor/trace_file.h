// TraceFile: the trace of a run, which appears in its folder when it is complete.
#pragma once

#include <string>
#include <string_view>

#include "engine/monitor/record_file.h"

namespace ds {

/// Writes trace.json. After a failure nothing more is written, and no part of the file stays.
class TraceFile {
 public:
  explicit TraceFile(const std::string& folder);

  void append(std::string_view text);
  /// Renames the file to its name. Returns whether all of it was written.
  bool finish();
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns why the file cannot be written; empty as long as it can.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void give_up(std::string why);

  std::string path_, partial_, problem_;
  RecordFile file_;
};

inline constexpr std::string_view kTraceName = "trace.json";

}  // namespace ds
