// FigureFiles: the figures of a run in the forms that other tools read, TensorBoard and CSV.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "engine/config/train_config.h"
#include "engine/monitor/csv_file.h"
#include "engine/monitor/event_file.h"
#include "engine/monitor/metrics_writer.h"

namespace ds {

/// A file that cannot be written is reported once, and training goes on without it.
class FigureFiles {
 public:
  using Tell = std::function<void(const std::string&)>;

  /// Makes the folders that `config.log` names; `run_folder` is that of the run. A metrics.csv of
  /// an earlier run in another folder moves to previous-N there, unless `continues`: then the files
  /// are of earlier epochs of this job. `tell` gets lines for the user.
  /// Errors: Error{config}: a folder cannot be created.
  FigureFiles(const TrainConfig& config, const std::string& run_folder, bool continues,
              Tell tell);

  /// Opens the event files, for steps after `step` and samples after `samples`. Readers drop what
  /// earlier files of the same folder have of later steps.
  void begin(std::int64_t step, std::int64_t samples);
  /// `samples`: those that all ranks have trained on, this step's included.
  void step(const StepMetrics& metrics, std::int64_t samples);
  /// `set`: as of validation_line().
  void validation(std::int64_t step, std::string_view set, double loss, double elapsed_s);
  void saved(const SaveMetrics& metrics);

 private:
  void events(EventFile& file, std::int64_t step, std::span<const Scalar> scalars);
  void warn(const std::string& problem, bool& is_told);

  Tell tell_;
  bool has_events_, has_csv_;
  bool has_scale_;             // fp16: DeepSpeed records the loss scale of no other type
  std::string events_folder_;  // over steps; "samples" below it: over samples
  EventFile by_step_, by_sample_;
  CsvFile csv_;
  bool events_told_ = false, csv_told_ = false;
};

}  // namespace ds
