// Formats and writes the progress of a run.
#include "engine/train/reporter.h"

#include <unistd.h>

#include "engine/base/own_host_name.h"
#include "engine/base/units.h"
#include "engine/data/set_rows.h"
#include "engine/monitor/run_start.h"
#include "engine/program/freeze.h"
#include "engine/train/build_id.h"

namespace ds {
namespace {

constexpr std::size_t kMedianWindow = 4096;  // logged steps
constexpr std::string_view kMetricsName = "metrics.jsonl";

/// Returns when the process began, in seconds since 1970.
std::int64_t start_time(Clock::time_point started) {
  using std::chrono::system_clock;
  const auto ago = std::chrono::duration_cast<system_clock::duration>(Clock::now() - started);
  return system_clock::to_time_t(system_clock::now() - ago);
}

/// Returns the sizes of what is held out, by sets: "1.2 MiB (web) and 30 KiB (code)".
std::string held_out_text(const DataSet& data) {
  if (data.validation_sets.empty()) return data.validation->size_text();
  std::string text;
  for (const auto& [name, part] : data.validation_sets)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", part->size_text(), name);
  return text;
}

/// Returns what to know of a set that is smaller than what a validation reads; empty of others.
std::string small_set_note(const NamedPart& set, const TrainConfig& config) {
  const std::int64_t rows = set.part->rows(), most = most_validation_rows(config);
  if (rows >= most) return {};
  return fmt::format(
      "         validation set {} has {} row{}, each is read once (there is room for {})", set.name,
      rows, rows == 1 ? "" : "s", most);
}

}  // namespace

Reporter::Reporter(const TrainConfig& config, const std::string& name, const RunId& run,
                   Clock::time_point started, RankChannel* channel)
    : config_(config),
      channel_(channel),
      run_(run),
      folder_(RunFolder::create(config, name, run)),
      last_before_(folder_.is_continued() ? last_logged_step(folder_.file(kMetricsName)) : -1),
      metrics_(folder_.file(kMetricsName), folder_.is_continued()),
      progress_(STDOUT_FILENO, detect_progress_style()),
      figures_(
          config, folder_.path(), [this](const std::string& line) { progress_.note(line); },
          folder_.is_continued()),
      tokens_per_s_(kMedianWindow),
      peak_fraction_(kMedianWindow),
      started_(started),
      logged_at_(Clock::now()) {}

double Reporter::elapsed() const { return seconds_of(Clock::now() - started_); }

void Reporter::header(const Trainer& trainer, const DataSet& data, const std::string& device,
                      int world_size, int local_ranks) {
  summary_.parameters = trainer.parameters();
  summary_.world_size = world_size;
  summary_.device = device;
  for (const Tier tier : {Tier::device, Tier::pinned_host, Tier::host})
    summary_.planned_bytes += trainer.plan().of(tier).total_bytes;
  summary_.planned_file_bytes = trainer.plan().of(Tier::nvme).total_bytes;
  summary_.rss_anon_before_arena = trainer.anonymous_bytes_before_arena();
  folder_.write("run.json",
                run_start_json({.started_s = start_time(started_),
                                .build = fmt::format("{}, {:.12}", library_versions(), build_id()),
                                .host = own_host_name(),
                                .device = device,
                                .world_size = world_size,
                                .local_ranks = local_ranks,
                                .parameters = trainer.parameters(),
                                .job = run_.job,
                                .epoch = run_.epoch}));
  if (!folder_.note().empty()) progress_.note(folder_.note());
  const ModelConfig& model = config_.model;
  progress_.note(fmt::format("model    {} {} layers x {} wide, {} heads: {} parameters, {}",
                             model.arch, model.layers, model.hidden, model.heads,
                             format_count(static_cast<double>(trainer.parameters())),
                             name_of(config_.precision.dtype)));
  const TrainedCount count = trained_count(trainer.step_program());
  if (count.frozen > 0)
    progress_.note(fmt::format("trains   {} parameters; {} are frozen",
                               format_count(static_cast<double>(count.trained)),
                               format_count(static_cast<double>(count.frozen))));
  progress_.note(fmt::format("data     {} for training, {} held out; {} tokens per sequence",
                             data.train->size_text(), held_out_text(data), config_.data.seq_len));
  if (const std::string note = data.train->note(); !note.empty())
    progress_.note(fmt::format("         of the documents {}", note));
  for (const NamedPart& set : data.validation_sets)
    if (const std::string note = small_set_note(set, config_); !note.empty()) progress_.note(note);
  progress_.note(fmt::format("job      {} rank{} on {}; {} sequences per step; {} planned per rank",
                             world_size, world_size == 1 ? "" : "s", device, config_.batch.global,
                             format_bytes(trainer.plan().device().total_bytes)));
  const TierPlan& host = trainer.plan().of(Tier::host);
  const std::int64_t on_host = host.total_bytes - host.snapshot_bytes;
  const std::int64_t in_files = trainer.plan().of(Tier::nvme).total_bytes;
  if (on_host > 0)
    progress_.note(fmt::format(
        "offload  {} in host memory{} per rank", format_bytes(on_host),
        in_files > 0 ? fmt::format(", {} in files", format_bytes(in_files)) : std::string()));
  if (config_.model.arch == "t5" && config_.precision.dtype == Precision::fp16)
    progress_.note(
        "advice   T5's activations overflow in fp16 and are cut off: set "
        "precision.dtype=bf16 where the hardware has it");
  if (!trainer.storage().empty()) progress_.note("files    " + trainer.storage());
  logged_at_ = Clock::now();
}

// A run that was resumed at its end makes no step.
void Reporter::begin(const Trainer& trainer) {
  const TrainingState state = trainer.state();
  summary_.steps = steps_before_ = state.step;
  summary_.skipped_steps = state.skipped;
  summary_.loss_scale = state.loss_scale.scale;
  figures_.begin(state.step, state.next_sample);
}

void Reporter::epoch(EpochMetrics metrics) {
  metrics.epoch = run_.epoch;
  metrics.redone_steps =
      last_before_ < 0 ? -1 : std::max<std::int64_t>(0, last_before_ - metrics.step);
  metrics_.write(epoch_line(metrics));
}

StepMetrics Reporter::metrics_of(const StepReport& report, double tokens_per_s) const {
  return {.step = report.step,
          .loss = report.loss,
          .learning_rate = report.lr,
          .grad_norm = report.grad_norm,
          .loss_scale = report.loss_scale,
          .skipped = report.skipped,
          .tokens = summary_.tokens,
          .tokens_per_s = tokens_per_s,
          .elapsed_s = elapsed(),
          .has_phases = config_.log.phases,
          .phases = report.phases,
          .slowest = report.slowest};
}

void Reporter::step(const StepReport& report) {
  const Clock::time_point now = Clock::now();
  const bool is_first = report.step == steps_before_ + 1;
  summary_.steps = report.step;
  summary_.tokens += report.tokens;
  summary_.train_loss = report.loss;
  summary_.skipped_steps = report.skipped;
  summary_.redone_updates = report.redone;
  summary_.loss_scale = report.loss_scale;
  if (config_.log.phases) {
    PhaseSeconds& sums = summary_.phases ? *summary_.phases : summary_.phases.emplace();
    for (std::size_t i = 0; i < kStepPhases; ++i) sums[i] += report.phases[i];
  }
  tokens_since_log_ += report.tokens;
  flops_since_log_ += report.flops;
  rate_.update(report.step, seconds_of(now - started_));
  const bool last = report.step == config_.train.steps || report.stop;
  const bool logged = is_first || report.step % config_.log.every == 0 || last;
  if (!logged && !progress_.live()) return;

  const double spent = std::max(seconds_of(now - logged_at_), 1e-9);
  const double tokens_per_s = static_cast<double>(tokens_since_log_) / spent;
  const double fraction = matrix_peak_ > 0 ? flops_since_log_ / spent / matrix_peak_ : 0.0;
  progress_.show({.step = report.step,
                  .total_steps = config_.train.steps,
                  .loss = report.loss,
                  .learning_rate = report.lr,
                  .skipped = report.skipped,
                  .tokens_per_s = tokens_per_s,
                  .peak_fraction = fraction,
                  .seconds_left = rate_.seconds_left(config_.train.steps)});
  if (!logged) return;
  const StepMetrics metrics = metrics_of(report, tokens_per_s);
  metrics_.write(metrics_line(metrics));
  figures_.step(metrics, report.samples);
  if (!is_first) {  // the first step creates primitives and touches memory
    tokens_per_s_.add(tokens_per_s);
    if (fraction > 0) peak_fraction_.add(fraction);
  }
  tokens_since_log_ = 0;
  flops_since_log_ = 0;
  logged_at_ = now;
}

void Reporter::validation(std::int64_t step, std::string_view set, double loss) {
  if (set.empty()) {
    summary_.validation_loss = loss;
  } else {
    summary_.validation_losses[std::string(set)] = loss;
  }
  const double now = elapsed();
  metrics_.write(validation_line(step, set, loss, now));
  figures_.validation(step, set, loss, now);
  progress_.note(fmt::format("step {}/{}  validation loss{}{} {:.4f} nats per {}", step,
                             config_.train.steps, set.empty() ? "" : " of ", set, loss,
                             config_.data.tokenizer == "bytes" ? "byte" : "token"));
  logged_at_ = Clock::now();  // validation is not training time
  tokens_since_log_ = 0;
  flops_since_log_ = 0;
}

void Reporter::saved(const SavedCheckpoint& saved, double flush_s) {
  const SaveMetrics metrics{.step = saved.step,
                            .bytes = saved.bytes,
                            .stall_s = saved.stall_s,
                            .copied_s = saved.copied_s,
                            .flush_s = flush_s,
                            .written_s = saved.written_s,
                            .elapsed_s = elapsed()};
  metrics_.write(save_line(metrics));
  figures_.saved(metrics);
}

void Reporter::sample(const std::string& text) {
  folder_.write("sample.txt", text + "\n");
  summary_.sample_path = folder_.file("sample.txt");
  progress_.note("sample:\n" + text);
}

void Reporter::finish(const std::string& weights_hash, std::int64_t peak_memory_bytes,
                      bool stopped) {
  summary_.weights_hash = weights_hash;
  summary_.median_tokens_per_s = tokens_per_s_.median();
  const double fraction = peak_fraction_.median();
  if (fraction > 0) summary_.peak_fraction = fraction;
  summary_.peak_memory_bytes = peak_memory_bytes;
  summary_.elapsed_s = elapsed();
  folder_.write("summary.json", summary_json(summary_));
  progress_.finish();
  const std::string waited = summary_.phases ? data_wait_line(*summary_.phases) : std::string();
  if (!waited.empty()) progress_.note(waited);
  progress_.note(fmt::format("{} after {} steps, {}; run folder: {}", stopped ? "stopped" : "done",
                             summary_.steps, format_duration(summary_.elapsed_s), folder_.path()));
}

}  // namespace ds
