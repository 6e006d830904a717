// The steps of a resume: keep settings, agree, load, fall back to other copies and older steps.
#include "engine/train/resume.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/base/checkpoint_line.h"
#include "engine/base/units.h"
#include "engine/checkpoint/manifest_text.h"
#include "engine/checkpoint/save_names.h"
#include "engine/comm/notes.h"
#include "engine/states/checkpoint_source.h"
#include "engine/states/needed_pieces.h"
#include "engine/train/save_outcome.h"
#include "engine/train/trained_model.h"

namespace ds {
namespace {

constexpr auto kTimeout = std::chrono::minutes(5);

std::int64_t number_of(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string identity_of(const Checkpoint* checkpoint) {
  if (checkpoint == nullptr) return "none";
  const Manifest& manifest = checkpoint->manifest();
  return fmt::format("step {}, saved at {} ms", manifest.state.step, manifest.saved_ms);
}

ResumeRequest search_request(const CheckpointConfig& config, const Rendezvous& job) {
  return {.resume = config.resume,
          .load = config.load == LoadWhat::all ? "all" : "weights",
          .dir = config.dir,
          .job = job.job_id,
          .is_restart = job.epoch > 0};
}

/// Returns a kept step as a checkpoint of which no chunk can be read yet.
Resumed resumed_from(const KeptStep& step) {
  std::vector<OpenChunk> chunks(step.manifest.chunks.size());
  return {.checkpoint = Checkpoint::of(step.manifest, std::move(chunks),
                                       fmt::format("memory (step {})", step.step())),
          .load = "all",
          .origin = step.manifest.origin};
}

std::string count_of_ranks(int ranks) {
  return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s");
}

}  // namespace

std::int64_t newest_saved_step(const CheckpointConfig& config) {
  if (config.dir.empty()) return -1;
  try {
    const std::vector<std::string> folders = checkpoints_in(config.dir);
    if (folders.empty()) return -1;
    const std::string& newest = folders.front();
    return parse_save_name(newest.substr(newest.rfind('/') + 1))->step;
  } catch (const Error&) {
    return -1;
  }
}

Resume::Resume(const CheckpointConfig& config, const Rendezvous& job)
    : Resume(config, job, Recovery{}) {}

Resume::Resume(const CheckpointConfig& config, const Rendezvous& job, Recovery recovery)
    : search_(search_request(config, job)),
      memory_(std::move(recovery.memory)),
      newest_on_disk_(recovery.newest_on_disk),
      world_size_(job.world_size),
      is_restart_(job.epoch > 0) {
  find({});
}

void Resume::find(const std::string& why_not) {
  const KeptStep* const kept = memory_ ? memory_->step() : nullptr;
  if (kept != nullptr && kept->step() >= newest_on_disk_) return take(*kept);
  if (!on_disk_) find_on_disk(why_not, kept != nullptr);
  const Manifest* const saved = on_disk_->checkpoint ? &on_disk_->checkpoint->manifest() : nullptr;
  const bool is_further = saved == nullptr || on_disk_->load == "weights" ||
                          (kept != nullptr && kept->step() >= saved->state.step);
  if (kept != nullptr && is_further) return take(*kept);
  if (disk_error_) throw Error(*disk_error_);
  in_memory_ = false;
  found_ = *std::exchange(on_disk_, std::nullopt);
}

// Broken checkpoints do not matter while a step is kept in memory.
void Resume::find_on_disk(const std::string& why_not, bool has_other) {
  try {
    on_disk_ = search_.next(why_not);
  } catch (const NewerVersion&) {
    throw;
  } catch (const Error& error) {
    if (!has_other) throw;
    disk_error_ = error;
    on_disk_ = Resumed{.lines = {fmt::format("checkpoint skipped: {}", error.what())}};
  }
}

void Resume::take(const KeptStep& kept) {
  in_memory_ = true;
  kept_epoch_ = kept.epoch;
  found_ = resumed_from(kept);
}

LoadWhat Resume::what() const {
  return found_.load == "weights" ? LoadWhat::weights : LoadWhat::all;
}

TrainingState Resume::state() const {
  return found_.checkpoint && what() == LoadWhat::all ? found_.checkpoint->manifest().state
                                                      : TrainingState();
}

std::vector<std::string> Resume::kept(const LoadRequest& request) const {
  if (!found_.checkpoint || what() == LoadWhat::weights) return {};
  const std::string& saved = found_.checkpoint->manifest().arithmetic;
  std::vector<std::string> overrides;
  const auto ranks = arithmetic_value(saved, "determinism.virtual_ranks");
  if (ranks && !gives_key(request, "determinism.virtual_ranks")) {
    // Every rank needs a virtual rank, so a larger job needs more than the first start had.
    overrides.push_back(fmt::format("determinism.virtual_ranks={}",
                                    std::max(number_of(*ranks), request.world_size)));
  }
  const auto order = arithmetic_value(saved, "determinism.order");
  if (order && !gives_key(request, "determinism.order"))
    overrides.push_back("determinism.order=" + *order);
  return overrides;
}

void Resume::require_model(const TrainConfig& config) const {
  if (!found_.checkpoint) return;
  // Lengths of the encoder's sequences change no tensor, and are not known before the data are.
  const ModelShape smallest{
      .micro = 1, .seq_len = config.data.seq_len, .act = DType::f32, .fields = {.encoder_len = 1}};
  require_tensors(*found_.checkpoint, what(), trained_model(config, smallest, 0),
                  shard_spec(config, 0, 1).update);
}

void Resume::fill(Trainer& trainer, SaveOutcome& outcome, int& broken) {
  const Clock::time_point start = Clock::now();
  std::shared_ptr<const Checkpoint> from = found_.checkpoint;
  try {
    if (in_memory_) {
      from = memory_->fetch(needed_pieces(from->manifest(), trainer.step_program(),
                                          ranges_to_read(trainer.step_program(), trainer.spec())));
    }
    CheckpointSource source(from, what());
    try {
      trainer.load(source);
    } catch (const Error&) {
      broken = source.broken_chunk();
      throw;
    }
    outcome.bytes = source.bytes_read();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::comm) throw;
    if (broken < 0) broken = KeptMemory::kUnusable;
    outcome.fail(error.what());
  }
  outcome.seconds = seconds_of(Clock::now() - start);
}

void Resume::replace(const SaveOutcome& outcome, int broken, const Say& say) {
  std::string why = fmt::format("rank {}: {}", outcome.rank, outcome.why());
  if (in_memory_) {
    say("resume   " + std::exchange(why, {}));
    for (const std::string& line : memory_->report_broken(broken)) say("resume   " + line);
  }
  find(why);
}

Began Resume::load(Trainer& trainer, StartVote& vote, const LoadRequest& request, const Say& say) {
  const std::vector<std::string> chosen = kept(request);
  Group& world = vote.world();
  if (memory_) {
    for (const std::string& problem : memory_->problems()) say("resume   " + problem);
    if (!in_memory_ && !memory_->incomplete().empty())
      say(fmt::format("resume   memory is not used: {}", memory_->incomplete()));
  }
  Began began;
  for (;;) {
    for (const std::string& line : found_.lines) say(line);
    const Checkpoint* const from = checkpoint();
    require_agreement(world, "checkpoint to resume from", identity_of(from),
                      Deadline::after(kTimeout));
    if (from == nullptr) {
      if (is_restart_)
        say("resume   there is no checkpoint: training begins again at step 0");
      vote.together("start.weights", [&](SaveOutcome&) { trainer.begin(); });
      end_memory();
      return began;
    }
    require_tensors(*from, what(), trainer.step_program(), trainer.spec().update);
    SaveOutcome own;
    int broken = KeptMemory::kNotBroken;
    fill(trainer, own, broken);
    const SaveOutcome all = gather_outcomes(world, own, "checkpoint.load");
    began.bytes_read = all.bytes;
    began.seconds = all.seconds;
    if (all.why().empty()) break;
    replace(all, broken, say);
    require_settings(chosen, request, all.why());
  }
  trainer.share(what() == LoadWhat::all);
  began.from = in_memory_ ? Began::From::memory : Began::From::checkpoint;
  began.step = what() == LoadWhat::all ? checkpoint()->manifest().state.step : 0;
  began.ranks_before = checkpoint()->manifest().world_size;
  began.bytes_moved = in_memory_ ? memory_->moved_bytes() : 0;
  if (what() == LoadWhat::all) trainer.resume(checkpoint()->manifest().state);
  end_memory();
  tell(began, trainer, say);
  return began;
}

// The programs are already built. New weights, and weights alone, fit any settings.
void Resume::require_settings(const std::vector<std::string>& chosen, const LoadRequest& request,
                              std::string_view why) const {
  if (checkpoint() == nullptr || what() == LoadWhat::weights) return;
  const std::vector<std::string> needed = kept(request);
  if (needed == chosen) return;
  const std::string& folder = checkpoint()->folder();
  throw Error(ErrorKind::config,
              fmt::format("{}; the next older checkpoint, {}, needs {}, with which this job did not "
                          "begin",
                          why, folder, fmt::join(needed, " ")),
              "to resume from it, set checkpoint.resume=" + folder);
}

// All ranks have loaded. What they do not go on from makes room for what they keep next.
void Resume::end_memory() {
  if (memory_) in_memory_ ? memory_->drop_other_steps() : memory_->drop_all();
  memory_.reset();  // its descriptors keep memory that the agent may drop
}

void Resume::tell(const Began& began, const Trainer& trainer, const Say& say) const {
  const Manifest& manifest = checkpoint()->manifest();
  if (what() == LoadWhat::all) {
    if (!in_memory_) say(resumed_line(manifest.state.step, checkpoint()->folder()));
    for (const std::string& line :
         arithmetic_differences(manifest.arithmetic, trainer.arithmetic()))
      say("resume   arithmetic differs from the saved run: " + line);
  } else {
    say(fmt::format("weights loaded from step {} of {}", manifest.state.step,
                    checkpoint()->folder()));
  }
  if (in_memory_) {
    return say(
        fmt::format("resume   step {} from memory ({} of epoch {} -> {}, {} moved, {:.3g} s)",
                    began.step, count_of_ranks(manifest.world_size), kept_epoch_,
                    count_of_ranks(world_size_), format_bytes(began.bytes_moved), began.seconds));
  }
  const double rate = static_cast<double>(began.bytes_read) / std::max(began.seconds, 1e-9);
  say(fmt::format("resume   {} read in {:.3g} s, {}/s", format_bytes(began.bytes_read),
                  began.seconds, format_bytes(static_cast<std::int64_t>(rate))));
}

}  // namespace ds
