// Reporter: what rank 0 prints and writes: header, progress, metrics.jsonl, summary.json, sample.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/checkpoint_line.h"
#include "engine/base/deadline.h"
#include "engine/base/rank_channel.h"
#include "engine/config/train_config.h"
#include "engine/monitor/figure_files.h"
#include "engine/monitor/metrics_writer.h"
#include "engine/monitor/progress.h"
#include "engine/monitor/run_folder.h"
#include "engine/monitor/summary.h"
#include "engine/train/trainer.h"

namespace ds {

class Reporter {
 public:
  /// Creates the run folder, or continues that of the job's earlier epochs. `started` is when the
  /// process began, for elapsed_s. `channel` may be null.
  Reporter(const TrainConfig& config, const std::string& name, const RunId& run,
           Clock::time_point started, RankChannel* channel);

  [[nodiscard]] const std::string& folder() const { return folder_.path(); }

  void header(const Trainer& trainer, const DataSet& data, const std::string& device,
              int world_size, int local_ranks);
  /// Sets the matrix peak of all ranks together, in FLOP/s. Called after a logged step.
  void set_matrix_peak(double flops) {
    matrix_peak_ = flops;
    logged_at_ = Clock::now();  // the measurement is not training time
  }
  /// Call it when it is known where training begins, before the first step.
  void begin(const Trainer& trainer);
  /// Records how an epoch after the first began.
  void epoch(EpochMetrics metrics);
  /// Prints a line for the user.
  void note(const std::string& line) { progress_.note(line); }
  /// Tells a line of checkpoint_line.h to the launcher and prints it.
  void note_checkpoint(const std::string& line) {
    if (channel_ != nullptr) channel_->tell_checkpoint(line);
    progress_.note(line);
  }
  void step(const StepReport& report);
  /// `set`: empty where the data of validation have no name.
  void validation(std::int64_t step, std::string_view set, double loss);
  /// Records a complete checkpoint. `flush_s` is the time of updates that the save made early.
  void saved(const SavedCheckpoint& saved, double flush_s);
  /// Records the anonymous resident bytes at the end of step 2 for the summary.
  void memory_after_step2(std::int64_t anonymous_bytes) {
    summary_.rss_anon_step2 = anonymous_bytes;
  }
  void sample(const std::string& text);
  void finish(const std::string& weights_hash, std::int64_t peak_memory_bytes, bool stopped);

 private:
  [[nodiscard]] double elapsed() const;
  [[nodiscard]] StepMetrics metrics_of(const StepReport& report, double tokens_per_s) const;

  const TrainConfig& config_;
  RankChannel* const channel_;
  const RunId run_;
  RunFolder folder_;
  std::int64_t last_before_ = -1;  // last logged step of the earlier epochs
  MetricsWriter metrics_;
  ProgressWriter progress_;
  FigureFiles figures_;
  RateMeter rate_;
  MedianMeter tokens_per_s_, peak_fraction_;
  std::int64_t steps_before_ = 0;  // of this run
  Summary summary_;
  Clock::time_point started_, logged_at_;
  std::int64_t tokens_since_log_ = 0;
  double flops_since_log_ = 0;
  double matrix_peak_ = 0;
};

}  // namespace ds
