// metrics.jsonl: one JSON object a line, for each logged step, each validation and each checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/line.h"
#include "engine/base/unique_fd.h"

namespace ds {

struct StepMetrics {
  std::int64_t step = 0;  // From 1.
  double loss = 0.0;      // Nats per token, mean over the step's tokens.
  double learning_rate = 0.0;
  double grad_norm = 0.0;    // Before clipping.
  double loss_scale = 1.0;   // Of this step's backward pass.
  std::int64_t skipped = 0;  // Steps left out since the start: gradients that were not finite.
  std::int64_t tokens = 0;   // Seen since the start, all ranks.
  double tokens_per_s = 0.0;
  double elapsed_s = 0.0;
};

/// The line, with its end: {"step":1,"loss":5.54,"lr":0.001,"grad_norm":1.5,"tokens":2048,...}.
/// Shortest digits that read back; what is not finite becomes null, as JSON has no word for it.
Line metrics_line(const StepMetrics& metrics);
/// {"step":200,"validation_loss":1.9,"elapsed_s":31.0}
Line validation_line(std::int64_t step, double loss, double elapsed_s);

/// A checkpoint that is complete.
struct SaveMetrics {
  std::int64_t step = 0;
  std::int64_t bytes = 0;  // of all ranks
  double stall_s = 0;      // of training, of the rank that stood longest
  double copied_s = 0;     // in memory, beside the steps, of the rank that took longest
  double flush_s = 0;      // of updates that were due and came sooner
  double written_s = 0;    // from its begin to the commit
  double elapsed_s = 0;
};
/// {"step":200,"checkpoint_bytes":1486,"stall_s":0.01,"copied_s":0.1,"flush_s":0,"written_s":1.5,"elapsed_s":31.0}
Line save_line(const SaveMetrics& metrics);

class MetricsWriter {
 public:
  /// Creates or truncates `path`. Errors: Error{system} naming the path.
  explicit MetricsWriter(const std::string& path);
  /// One write(2), so a reader never sees half a line of a step that is over. Errors:
  /// Error{system}: disk full.
  void write(std::string_view line) const;

 private:
  std::string path_;
  UniqueFd file_;
};

}  // namespace ds
