// Tags and folders of the event files, and what happens on a full disk.
#include "engine/monitor/figure_files.h"

#include <array>
#include <filesystem>
#include <utility>

#include "engine/base/error.h"
#include "engine/monitor/run_folder.h"

namespace ds {
namespace {

constexpr std::array<std::string_view, kStepPhases> kPhaseTags{
    "phases/forward", "phases/backward",   "phases/reduce",  "phases/gather",
    "phases/update",  "phases/offload",    "phases/control", "phases/data",
    "phases/save",    "phases/validation", "phases/other"};

std::string place_of(const LogPlace& place, const std::string& otherwise) {
  return place.dir.empty() ? otherwise : place.dir;
}

void make_folder(std::string_view key, const std::string& folder) {
  std::error_code status;
  std::filesystem::create_directories(folder, status);
  if (!status) return;
  throw Error(ErrorKind::config,
              fmt::format("{}: {} cannot be created: {}", key, folder, status.message()),
              fmt::format("set {} to true or to a writable folder", key));
}

}  // namespace

FigureFiles::FigureFiles(const TrainConfig& config, const std::string& run_folder, bool continues,
                         Tell tell)
    : tell_(std::move(tell)),
      has_events_(config.log.tensorboard.on),
      has_csv_(config.log.csv.on),
      has_scale_(config.precision.dtype == Precision::fp16),
      events_folder_(place_of(config.log.tensorboard, run_folder + "/tensorboard")) {
  if (has_events_) make_folder("log.tensorboard", events_folder_ + "/samples");
  if (!has_csv_) return;
  const std::string folder = place_of(config.log.csv, run_folder);
  make_folder("log.csv", folder);
  const std::string moved = continues ? "" : set_aside(folder, {"metrics.csv"});
  if (!moved.empty()) tell_(fmt::format("moved the metrics.csv of an earlier run to {}", moved));
  csv_ = CsvFile(folder + "/metrics.csv",
                 {.sets = !config.data.validation_sets.empty(), .phases = config.log.phases},
                 continues);
}

// Steps and samples are counted apart, and a start drops the later points of every curve in its
// folder: therefore the two have a folder each.
void FigureFiles::begin(std::int64_t step, std::int64_t samples) {
  if (!has_events_) return;
  by_step_ = EventFile(events_folder_, step + 1);
  by_sample_ = EventFile(events_folder_ + "/samples", samples + 1);
}

void FigureFiles::step(const StepMetrics& m, std::int64_t samples) {
  if (has_csv_ && !csv_.write(m)) warn(csv_.problem(), csv_told_);
  if (!has_events_) return;
  std::array<Scalar, 7 + kStepPhases> scalars{
      {{"train/loss", m.loss},
       {"train/lr", m.learning_rate},
       {"train/grad_norm", m.grad_norm},
       {"train/loss_scale", m.loss_scale},
       {"train/skipped_steps", static_cast<double>(m.skipped)},
       {"train/tokens_per_s", m.tokens_per_s}}};
  std::size_t count = 6;
  if (m.has_phases) {
    scalars[count++] = {"phases/slowest_rank", static_cast<double>(m.slowest)};
    for (std::size_t i = 0; i < kStepPhases; ++i) scalars[count++] = {kPhaseTags[i], m.phases[i]};
  }
  events(by_step_, m.step, std::span(scalars).first(count));
  // The names and the horizontal axis of DeepSpeed's monitors.
  const std::array<Scalar, 3> twins{{{"Train/Samples/train_loss", m.loss},
                                     {"Train/Samples/lr", m.learning_rate},
                                     {"Train/Samples/loss_scale", m.loss_scale}}};
  events(by_sample_, samples, std::span(twins).first(has_scale_ ? 3 : 2));
}

void FigureFiles::validation(std::int64_t step, std::string_view set, double loss,
                             double elapsed_s) {
  if (has_csv_ && !csv_.validation(step, set, loss, elapsed_s)) warn(csv_.problem(), csv_told_);
  const std::string tag = fmt::format("validation/loss{}{}", set.empty() ? "" : "/", set);
  const Scalar scalar{tag, loss};
  if (has_events_) events(by_step_, step, {&scalar, 1});
}

void FigureFiles::saved(const SaveMetrics& m) {
  const std::array<Scalar, 5> scalars{{{"checkpoint/bytes", static_cast<double>(m.bytes)},
                                       {"checkpoint/stall_s", m.stall_s},
                                       {"checkpoint/copied_s", m.copied_s},
                                       {"checkpoint/flush_s", m.flush_s},
                                       {"checkpoint/written_s", m.written_s}}};
  if (has_events_) events(by_step_, m.step, scalars);
}

void FigureFiles::events(EventFile& file, std::int64_t step, std::span<const Scalar> scalars) {
  if (!file.write(step, scalars)) warn(file.problem(), events_told_);
}

void FigureFiles::warn(const std::string& problem, bool& is_told) {
  if (std::exchange(is_told, true)) return;
  tell_(fmt::format("warning: {}; training continues, and figures may be missing there", problem));
}

}  // namespace ds
