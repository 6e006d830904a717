// MetricsWriter: metrics.jsonl, one JSON object per line for each logged step, validation and
// checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/line.h"
#include "engine/base/step_phases.h"
#include "engine/base/unique_fd.h"

namespace ds {

struct StepMetrics {
  std::int64_t step = 0;  // from 1
  double loss = 0.0;      // nats per token, mean over the step's tokens
  double learning_rate = 0.0;
  double grad_norm = 0.0;    // before clipping
  double loss_scale = 1.0;   // of this step's backward pass
  std::int64_t skipped = 0;  // steps skipped since the start, because gradients were not finite
  std::int64_t tokens = 0;   // since the start, of all ranks
  double tokens_per_s = 0.0;
  double elapsed_s = 0.0;
  bool has_phases = false;
  PhaseSeconds phases{};  // of the rank that the others waited for
  int slowest = 0;        // that rank
};

/// Rounds to microseconds, so that a line stays readable.
double rounded_seconds(double seconds);

/// Formats a line with its newline:
/// {"step":1,"loss":5.54,"lr":0.001,"grad_norm":1.5,"tokens":2048,...,"slowest_rank":0,
/// "phases":{"forward":0.01,...}}. Numbers have the fewest
/// digits that read back exactly; a number that is not finite becomes null, because JSON has none.
Line metrics_line(const StepMetrics& metrics);
/// Formats {"step":200,"validation_set":"web","validation_loss":1.9,"elapsed_s":31.0}; `set` is
/// empty where the data of validation have no name, and then left out.
Line validation_line(std::int64_t step, std::string_view set, double loss, double elapsed_s);

/// Figures of a complete checkpoint.
struct SaveMetrics {
  std::int64_t step = 0;
  std::int64_t bytes = 0;  // of all ranks
  double stall_s = 0;      // pause of training, on the rank where it was longest
  double copied_s = 0;     // copying in memory beside the steps, on the slowest rank
  double flush_s = 0;      // updates that were due and ran earlier for it
  double written_s = 0;    // from its beginning to the commit
  double elapsed_s = 0;
};
/// Formats {"step":200,"checkpoint_bytes":1486,"stall_s":0.01,"copied_s":0.1,"flush_s":0,
/// "written_s":1.5,"elapsed_s":31.0}.
Line save_line(const SaveMetrics& metrics);

/// How an epoch after the first began.
struct EpochMetrics {
  std::uint64_t epoch = 0;
  std::int64_t step = 0;  // finished steps at its beginning
  int ranks = 0;
  int ranks_before = 0;           // that made the states; 0: unknown
  std::string_view source{};      // "memory", "disk" or "new"
  std::int64_t moved_bytes = 0;   // between nodes, of all ranks
  std::int64_t read_bytes = 0;    // of all ranks, from memory or disk
  std::int64_t redone_steps = 0;  // logged steps after `step`, which are repeated; -1: unknown
  // Seconds from the beginning of the process on rank 0 until: all ranks had met, the rank had its
  // memory and programs, the states were loaded.
  double met_s = 0, built_s = 0, loaded_s = 0;
};
/// Formats {"event":"epoch","epoch":2,"step":120,"ranks":3,...}. Lines that follow are of this epoch
/// and begin again behind `step`.
Line epoch_line(const EpochMetrics& metrics);

/// Returns the step of the last line of a metrics.jsonl that has one; -1: none.
std::int64_t last_logged_step(const std::string& path);

class MetricsWriter {
 public:
  /// Creates or truncates `path`, or continues it. Errors: Error{system} naming the path.
  explicit MetricsWriter(const std::string& path, bool continues = false);
  /// Writes with one write(2), so that a reader never sees half a line. Errors: Error{system}: disk
  /// full.
  void write(std::string_view line) const;

 private:
  std::string path_;
  UniqueFd file_;
};

}  // namespace ds
