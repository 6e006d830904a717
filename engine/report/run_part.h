// RunPart: what one process or epoch of a job left in a run folder or in previous-N; and how parts
// are read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/metrics_line.h"

namespace ds::report {

/// Lines of metrics.jsonl that could not be used.
struct BadLines {
  std::int64_t count = 0;
  std::string first{};   // "previous-1/metrics.jsonl:17"; empty: none
  bool cut_end = false;  // the last line is incomplete, as a kill or a full disk leaves it
};

/// Values of a JSON file or a config as text, by dotted key ("optimizer.lr").
using TextByKey = std::map<std::string, std::string, std::less<>>;

struct RunPart {
  std::string name;             // "previous-1"; empty: the folder itself
  std::vector<StepLine> steps;  // steps rise
  std::vector<ValidationLine> validations;
  std::vector<SaveLine> saves;
  BadLines bad{};
  TextByKey config{};                              // of config.toml
  TextByKey summary{};                             // of summary.json; empty: the process wrote none
  TextByKey start{};                               // of run.json
  std::optional<std::int64_t> begun{}, changed{};  // seconds since 1970, from the files' times
};

/// Collects lines of metrics.jsonl. Pure, for tests: read_run() feeds it.
class PartLines {
 public:
  /// `file` names the file in BadLines::first.
  explicit PartLines(std::string file) : file_(std::move(file)) {}
  /// Takes the next line, without its newline; `is_cut`: the file ends without one.
  void add(std::string_view line, bool is_cut = false);
  /// Counts a line that is too long to be one of ours.
  void add_too_long();
  /// Hands over what was collected: one part for each epoch of the job, at least one. Only lines are
  /// filled in; the bad ones of all parts are in the last.
  std::vector<RunPart> take();

 private:
  void broken();

  std::string file_;
  std::int64_t lines_ = 0;
  std::vector<RunPart> ended_{};  // epochs before
  RunPart part_{};
};

}  // namespace ds::report
