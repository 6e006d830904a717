// The steps of a save: snapshot, writing, gathering the ranks' outcomes, commit; and the decision
// when to save.
#include "engine/train/checkpointer.h"

#include <utility>

#include "engine/checkpoint/manifest_text.h"
#include "engine/checkpoint/save_names.h"
#include "engine/checkpoint/shared_folder.h"

namespace ds {
namespace {

// Long, because a slow disk that still writes is waited for. Ranks that are lost or stopped are
// detected much earlier.
constexpr auto kTimeout = std::chrono::hours(1);

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Checkpointer::Checkpointer(const TrainConfig& config, Trainer& trainer, Group& world,
                           std::unique_ptr<SaveFolder> folder, SaveFacts facts, Tell tell)
    : config_(config),
      trainer_(trainer),
      world_(world),
      facts_(std::move(facts)),
      tell_(std::move(tell)),
      folder_(std::move(folder)) {}

Checkpointer::~Checkpointer() { cancel_.store(true); }

void Checkpointer::wish(StepWishes& wishes) const {
  const double minutes = config_.checkpoint.minutes;
  wishes.time_to_save = world_.rank() == 0 && minutes > 0 && !due_ && !under_way_ &&
                        seconds_since(last_begin_) >= minutes * 60;
  const std::int64_t before = under_way_ ? number_ - 1 : number_;
  wishes.save_written = wishes.save_over = before;
  if (!under_way_) return;
  const bool has_ended = task_.is_running() && task_.has_ended();
  if (under_way_->committing) {
    wishes.save_written = number_;
    if (has_ended) wishes.save_over = number_;
  } else if (has_ended) {
    wishes.save_written = number_;
    if (!task_.outcome().why().empty()) wishes.save_failed = number_;
  }
}

bool Checkpointer::is_due(const StepReport& report) const {
  const std::int64_t every = config_.checkpoint.every;
  return report.save || report.time_to_save || (every > 0 && report.step % every == 0);
}

bool Checkpointer::is_major(std::int64_t step) const {
  const std::int64_t every = config_.checkpoint.major_every;
  return every > 0 && step % every == 0;
}

void Checkpointer::after_step(const StepReport& report, bool is_last) {
  follow(report);
  asked_ = asked_ || report.save;
  due_ = due_ || is_due(report);
  if (is_last) return last_step(report);
  if (!due_) return;
  if (under_way_ && is_major(report.step)) finish();
  if (under_way_) return;  // the due save waits for the one in progress
  const bool is_beside = config_.checkpoint.is_periodic() && config_.checkpoint.async;
  if (shared_.is_free && !shared_.is_free(!is_beside || is_major(report.step))) return;
  if (is_beside) {
    begin(report.step);
  } else {
    save_now(report.step);
  }
}

bool Checkpointer::wants_last(const StepReport& report) const {
  if (due_ || is_due(report)) return true;
  return report.stop ? config_.checkpoint.on_signal : config_.checkpoint.at_end;
}

// Gives up a save of an older step: it is not worth the time that a stop leaves.
void Checkpointer::last_step(const StepReport& report) {
  const bool wants = wants_last(report);
  if (gives_up(report)) give_up();
  if (under_way_) finish();
  if (!wants || saved_step_ == report.step) return;
  if (shared_.is_free) shared_.is_free(true);
  save_now(report.step);
  lacks_end_ = saved_step_ != report.step && !report.stop;
}

bool Checkpointer::save_for_pause(const StepReport& report) {
  due_ = true;
  asked_ = asked_ || report.save;
  last_step(report);
  lacks_end_ = false;  // the job goes on
  return saved_step_ == report.step;
}

bool Checkpointer::leave_for_pause(const StepReport& report) {
  if (under_way_) under_way_->asked ? finish() : give_up();
  return asked_ || report.save;
}

void Checkpointer::require_end() const {
  if (!lacks_end_) return;
  throw Error(ErrorKind::system, "all steps ran, but the checkpoint of the last step was not saved",
              "see the line \"checkpoint: step ... failed\" above; the newest checkpoint is of an "
              "earlier step");
}

Checkpointer::UnderWay& Checkpointer::prepare(std::int64_t step) {
  const Clock::time_point start = Clock::now();
  trainer_.flush();
  UnderWay& save = under_way_.emplace(
      UnderWay{.number = ++number_, .step = step, .asked = asked_, .began = Clock::now()});
  save.flush_s = std::chrono::duration<double>(save.began - start).count();
  due_ = asked_ = false;
  last_begin_ = save.began;
  cancel_.store(false);
  hurry_.store(false);
  if (world_.rank() == 0) {
    save.head = head_of(trainer_, world_.size(), facts_);
    save.head.saved_ms = now_ms();
  }
  return save;
}

void Checkpointer::begin(std::int64_t step) {
  UnderWay& save = prepare(step);
  copy_ = shared_.elsewhere ? shared_.elsewhere(step) : nullptr;
  is_copy_elsewhere_ = copy_ != nullptr;
  if (!copy_) copy_ = std::make_shared<SnapshotCopy>(trainer_);
  save.stall_s = seconds_since(save.began);
  task_.start([this, step] {
    return write_part([&](ChunkWriter& chunk) { return copy_->write(chunk); }, step);
  });
}

void Checkpointer::save_now(std::int64_t step) {
  UnderWay& save = prepare(step);
  hurry_.store(true);  // training waits
  const StateCopy states = states_now(trainer_, tiles_);
  SaveOutcome own = write_part(
      [&](ChunkWriter& chunk) { return write_states(states.states, chunk, states.buffer); }, step);
  own.stall_s = seconds_since(save.began);
  after_writing(gather_outcomes(world_, own, "checkpoint.write"), true);
}

SaveOutcome Checkpointer::write_part(const Write& write, std::int64_t step) noexcept {
  const Clock::time_point start = Clock::now();
  SaveOutcome outcome{.rank = world_.rank()};
  try {
    // Checked before a byte is written, because a full disk would harm other users too.
    if (world_.rank() == 0) check_room(folder_->dir(), folder_->free_bytes(), facts_.bytes);
    const std::string name = chunk_name(world_.rank());
    ChunkWriter chunk({.path = folder_->begin(step) + "/" + name,
                       .rate = config_.checkpoint.rate,
                       .cancel = &cancel_,
                       .hurry = &hurry_});
    ChunkPart part = write(chunk);
    part.rank = world_.rank();
    part.chunk = {.name = name, .bytes = chunk.finish()};
    folder_->publish(step, part);
    outcome.bytes = part.chunk.bytes;
  } catch (const std::exception& error) {
    outcome.fail(error.what());
    outcome.cancelled = cancel_.load();
  }
  outcome.seconds = seconds_since(start);
  return outcome;
}

// Follows the merged control words, which are the same on every rank.
void Checkpointer::follow(const StepReport& report) {
  if (!under_way_) return;
  if (under_way_->committing) {
    if (report.save_over >= under_way_->number) conclude(task_.wait());
    return;
  }
  if (report.save_failed < under_way_->number && report.save_written < under_way_->number) return;
  if (report.save_failed >= under_way_->number) cancel_.store(true);
  finish_writing(false);
}

void Checkpointer::finish_writing(bool wait) {
  after_writing(gather_outcomes(world_, written(), "checkpoint.write"), wait);
}

// Returns this rank's outcome of a save that was written while training continued.
SaveOutcome Checkpointer::written() {
  SaveOutcome own = task_.wait();
  const SnapshotTimes copy = std::exchange(copy_, nullptr)->end();
  own.copied_s = copy.copied_s;
  own.stall_s = under_way_->stall_s + copy.stall_s;
  return own;
}

void Checkpointer::finish() {
  hurry_.store(true);
  if (under_way_->committing) return conclude(task_.wait());
  finish_writing(true);
}

// Removes the folder only after every rank has stopped writing to it.
void Checkpointer::give_up() {
  cancel_.store(true);
  if (under_way_->committing) return conclude(task_.wait());
  asked_ = asked_ || under_way_->asked;  // the next save answers the request
  gather_outcomes(world_, written(), "checkpoint.write");
  if (world_.rank() == 0) folder_->abandon(under_way_->step);
  under_way_.reset();
}

void Checkpointer::after_writing(const SaveOutcome& all, bool wait) {
  under_way_->all = all;
  if (!all.why().empty()) {
    if (world_.rank() == 0) folder_->abandon(under_way_->step);
    SaveOutcome end = all;
    return conclude(end);
  }
  under_way_->committing = true;
  if (world_.rank() == 0) {
    if (!wait) return task_.start([this] { return commit(); });
    return conclude(commit());
  }
  if (wait) conclude({});
}

SaveOutcome Checkpointer::commit() noexcept {
  const Clock::time_point start = Clock::now();
  SaveOutcome outcome;
  try {
    folder_->commit(under_way_->head);
    folder_->thin_out({config_.checkpoint.keep, config_.checkpoint.major_every});
  } catch (const std::exception& error) {
    outcome.fail(error.what());
    folder_->abandon(under_way_->step);
  }
  outcome.seconds = seconds_since(start);
  return outcome;
}

// Rank 0 broadcasts how the commit went.
void Checkpointer::conclude(SaveOutcome end) {
  const UnderWay save = *std::exchange(under_way_, std::nullopt);
  if (save.committing) {
    world_.about("checkpoint.commit");
    world_.broadcast(std::as_writable_bytes(std::span(&end, 1)), Deadline::after(kTimeout));
  }
  if (end.why().empty()) saved_step_ = save.step;
  if (!tell_ || world_.rank() != 0) return;
  SaveTold told{.saved = {.step = save.step,
                          .folder = folder_->dir() + "/" + step_name(save.step),
                          .bytes = save.all.bytes,
                          .stall_s = save.all.stall_s,
                          .copied_s = save.all.copied_s,
                          .written_s = save.all.seconds + end.seconds,
                          .asked = save.asked},
                .flush_s = save.flush_s};
  if (!end.why().empty())
    told.failed = world_.size() == 1 ? std::string(end.why())
                                     : fmt::format("rank {}: {}", end.rank, end.why());
  tell_(told);
}

}  // namespace ds
